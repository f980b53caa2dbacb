/* What the extension makes of a timeline: read, drawn as a tree, and the way from one state to another. */
import assert from 'node:assert/strict';
import test from 'node:test';

import { image, reply, row } from './replies.mjs';

const { canRedo, canUndo, readTimeline, rowsOf, wayTo } = await import(`${process.env.PETRI_LAB_LIB}/timeline.js`);

const drawn = content => rowsOf(readTimeline(content)).map(row);

test('states of one line are drawn below each other', () => {
  const content = reply([image('first', null), image('a', 'first', 1), image('b', 'a', 2)], 'b');
  assert.deepEqual(drawn(content), ['0 apart first down', '0 on a down', '0 on b']);
});

test('the branch without the current state is indented before the one that leads to it', () => {
  const images = [image('first', null), image('a', 'first', 1), image('b', 'a', 2), image('c', 'first', 1)];
  assert.deepEqual(drawn(reply(images, 'c')), ['0 apart first down', '1 branch a down |', '1 on b |', '0 on c']);
  assert.deepEqual(drawn(reply(images, 'a')), ['0 apart first down', '1 branch c |', '0 on a down', '0 on b']);
});

test('all branches are indented where one is at their beginning, and the last one ends the line', () => {
  const images = [image('first', null), image('a', 'first', 1), image('b', 'first', 1)];
  assert.deepEqual(drawn(reply(images, 'first')), ['0 apart first down', '1 branch a |', '1 last b .']);
});

test('a state whose parent is not known stands apart, and is a cell', () => {
  const timeline = readTimeline(reply([image('b', 'forgotten', 2), image('c', 'b', 3)], 'c'));
  assert.deepEqual(rowsOf(timeline).map(row), ['0 apart b down', '0 on c']);
  assert.equal(wayTo(timeline, timeline.byId.get('b')).undone.length, 1);
});

test('branches that lie very deep in each other are no longer indented, and none is lost', () => {
  const images = [image('first', null)];
  for (let n = 0; n < 40; n++) {
    images.push(image(`a${n}`, n ? `b${n - 1}` : 'first', 1), image(`b${n}`, n ? `b${n - 1}` : 'first', 1));
  }
  const rows = rowsOf(readTimeline(reply(images, 'first')));
  assert.equal(rows.length, images.length);
  assert.equal(Math.max(...rows.map(({ level }) => level)), 8);
  assert.ok(rows.every(({ level, through }) => through.length === level));
});

test('a line of thousands of states is drawn', () => {
  const images = Array.from({ length: 4096 }, (_, n) => image(`s${n}`, n ? `s${n - 1}` : null, n || null));
  assert.equal(drawn(reply(images, 's0')).length, 4096);
});

test('the way to another branch undoes cells and has others again', () => {
  const images = [image('first', null), image('a', 'first', 1), image('b', 'a', 2), image('c', 'a', 2)];
  const timeline = readTimeline(reply(images, 'b'));
  const way = wayTo(timeline, timeline.byId.get('c'));
  assert.deepEqual([way.undone.map(({ id }) => id), way.again.map(({ id }) => id)], [['b'], ['c']]);
  const back = wayTo(timeline, timeline.byId.get('first'));
  assert.deepEqual([back.undone.map(({ id }) => id), back.again], [['a', 'b'], []]);
});

test('one can undo to a state that is kept, and redo to one that was made of the current one', () => {
  const images = [image('first', null), image('a', 'first', 1)];
  const can = (content, what) => what(readTimeline(content));
  assert.ok(can(reply(images, 'a'), canUndo) && !can(reply(images, 'a'), canRedo));
  assert.ok(!can(reply(images, 'first'), canUndo) && can(reply(images, 'first'), canRedo));
  const gone = [{ ...images[0], kept: false }, images[1]];
  assert.ok(!can(reply(gone, 'a'), canUndo));
  assert.ok(!can(reply([images[0], { ...images[1], kept: false }], 'first'), canRedo));
});

test('what is no timeline is none', () => {
  for (const content of [null, 'ok', [], {}, { status: 'error' }, { status: 'ok', images: {} }]) {
    assert.equal(readTimeline(content), null);
  }
});

test('images and fields of other shapes are left out', () => {
  const odd = [null, 7, [], {}, { image: '' }, { image: 5 }, { image: 'x'.repeat(300) }];
  const state = { image: 'a', names: [1, 'b', null], execution_count: -1, code_first_line: {}, bytes_changed: 'x', kept: 1 };
  const timeline = readTimeline({ status: 'ok', images: [...odd, state, state], current: 5 });
  assert.equal(timeline.current, null);
  assert.deepEqual(timeline.states, [
    { id: 'a', parent: null, count: null, line: '', names: ['b'], bytes: 0, files: 0, wallMs: 0, started: '', kept: false }
  ]);
});

test('a circle of parents is none', () => {
  const timeline = readTimeline(reply([image('a', 'b', 1), image('b', 'a', 2), image('c', 'c', 3)], 'b'));
  assert.deepEqual([...timeline.path], ['b', 'a']);
  assert.equal(rowsOf(timeline).length, 3);
});

test('texts, names and states are cut to their limits', () => {
  const long = 'x'.repeat(10000);
  const state = { ...image('a', null, 1), code_first_line: long, names: Array(999).fill(long) };
  const [read] = readTimeline(reply([state], 'a')).states;
  assert.deepEqual([read.line.length, read.names.length, read.names[0].length], [200, 50, 200]);
  const many = Array.from({ length: 6000 }, (_, n) => image(`s${n}`, null, 1));
  const { states } = readTimeline(reply(many, 's5999'));
  assert.deepEqual([states.length, states[4999].id], [5000, 's5999']);
});
