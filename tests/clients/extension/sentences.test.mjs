/* Words and figures. */
import assert from 'node:assert/strict';
import test from 'node:test';

import { image, reply } from './replies.mjs';

const { detailText, numberText, placeText, sizeText, tookText, wayText, whenText } = await import(
  `${process.env.PETRI_LAB_LIB}/sentences.js`
);
const { readTimeline } = await import(`${process.env.PETRI_LAB_LIB}/timeline.js`);

const [first, cell, extra] = readTimeline(
  reply([image('first', null), image('a', 'first', 3), image('b', 'a', null)], 'a')
).states;

test('sizes and times are those of %timeline', () => {
  assert.deepEqual([0, 1, 1023, 1024, 3355443, 20 << 20, 2 ** 41].map(sizeText), [
    '0 bytes', '1 byte', '1023 bytes', '1.0 KiB', '3.2 MiB', '20 MiB', '2.0 TiB'
  ]);
  assert.deepEqual([0, 999, 1500, 61000, 3720000].map(tookText), ['0 ms', '999 ms', '1.5 s', '1 min 1 s', '1 h 2 min']);
});

test('a time of another day has its date, and what is no date has none', () => {
  const now = new Date(2026, 10, 27, 18, 0);
  assert.equal(whenText(new Date(2026, 10, 27, 9, 5).toISOString(), now), '09:05');
  assert.equal(whenText(new Date(2026, 10, 26, 9, 5).toISOString(), now), '2026-11-26 09:05');
  assert.deepEqual([whenText('', now), whenText('soon', now)], ['', '']);
});

test('a state is called by its number, or by its place', () => {
  assert.deepEqual([first, cell, extra].map(numberText), ['first', '[3]', '·']);
  assert.deepEqual([first, cell, extra].map(placeText), ['the beginning', 'the state after [3]', 'that state']);
});

test('the detail leaves out what is nothing, and says what is gone', () => {
  assert.match(detailText({ ...cell, bytes: 1024, files: 1 }, new Date(0)), /5 ms · \+1.0 KiB · 1 file$/);
  assert.equal(detailText({ ...first, started: '', kept: false }, new Date(0)), 'gone');
});

test('the way says how many cells are undone and there again', () => {
  const many = Array(9).fill(cell);
  assert.match(wayText({ undone: [cell], again: [] }), /^1 cell \(\[3\]\) is undone\. Nothing is lost/);
  assert.match(wayText({ undone: [cell, extra], again: [cell] }), /^2 cells \(\[3\]\) are undone\. 1 cell .* there again\./);
  assert.match(wayText({ undone: many, again: [] }), /^9 cells \(.*, …\) are undone\./);
});
