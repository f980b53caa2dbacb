/* Which cells are undone. */
import assert from 'node:assert/strict';
import test from 'node:test';

import { image, reply } from './replies.mjs';

const { isFirstLine, isUndone, stateOf } = await import(`${process.env.PETRI_LAB_LIB}/marks.js`);
const { readTimeline } = await import(`${process.env.PETRI_LAB_LIB}/timeline.js`);

/* [2] y = 1 is undone, and another [2] is there. */
const timeline = readTimeline(
  reply(
    [
      image('first', null),
      image('a', 'first', 1, 'x = 1'),
      image('b', 'a', 2, 'y = 1'),
      image('c', 'a', 2, 'z = 1'),
      image('d', 'c', 3, 'z')
    ],
    'd'
  )
);

test('a cell whose state is not on the path to the current one is undone', () => {
  assert.ok(isUndone(timeline, { count: 2, source: 'y = 1' }));
  assert.ok(!isUndone(timeline, { count: 1, source: 'x = 1' }));
  assert.ok(!isUndone(timeline, { count: 2, source: 'z = 1\nmore' }));
});

test('a cell that has left no state, has no number or runs is not undone', () => {
  assert.ok(!isUndone(timeline, { count: 4, source: 'z' }));
  assert.ok(!isUndone(timeline, { count: null, source: 'y = 1' }));
  assert.ok(!isUndone(timeline, { count: 2, source: 'y = 1' }, { runId: null, count: 2 }));
});

test('a state whose image is gone still tells that its cell is undone', () => {
  const gone = readTimeline(reply([image('first', null), { ...image('a', 'first', 1, 'x'), kept: false }], 'first'));
  assert.ok(isUndone(gone, { count: 1, source: 'x' }));
});

test('a run that this page has sent tells the state, whatever the cell has become', () => {
  assert.ok(isUndone(timeline, { count: 2, source: 'edited' }, { runId: 'b', count: 2 }));
  assert.ok(!isUndone(timeline, { count: 2, source: 'y = 1' }, { runId: 'c', count: 2 }));
});

test('a run of a cell that has another number by now does not count', () => {
  assert.ok(!isUndone(timeline, { count: 3, source: 'z' }, { runId: 'b', count: 2 }));
});

test('of several states with the number and the first line of a cell the newest counts', () => {
  const images = [image('first', null), image('a', 'first', 1, 'x'), image('b', 'first', 1, 'x')];
  const cell = { count: 1, source: 'x' };
  assert.equal(stateOf(readTimeline(reply(images, 'a')), cell).id, 'b');
  assert.ok(isUndone(readTimeline(reply(images, 'a')), cell));
  assert.ok(!isUndone(readTimeline(reply(images, 'b')), cell));
});

test('a first line is compared as the kernel shows it', () => {
  assert.ok(isFirstLine('x = 1', '\n  x = 1 \t\ny = 2'));
  assert.ok(isFirstLine('if x: y', 'if x:\ty'));
  assert.ok(isFirstLine('a?b', 'a\u200bb'));
  assert.ok(isFirstLine('', '\n'));
  assert.ok(isFirstLine(`${'x'.repeat(10)}…`, 'x'.repeat(20)));
  assert.ok(!isFirstLine(`${'x'.repeat(10)}…`, 'x'.repeat(5)));
  assert.ok(!isFirstLine('x = 1', 'x = 12'));
  assert.ok(!isFirstLine('x = 12', 'x = 1'));
});
