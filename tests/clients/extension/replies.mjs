/* Replies as petri gives them, and rows as short texts. */

export const image = (id, parent, count = null, line = `line of ${id}`) => ({
  image: id,
  parent,
  run_id: id,
  execution_count: count,
  code_first_line: line,
  names: [],
  bytes_changed: 0,
  files_changed: 0,
  wall_ms: 5,
  started: '2026-11-27T12:00:00Z',
  kept: true
});

export const reply = (images, current) => ({ status: 'ok', images, current, bytes_kept: 0 });

/* Level, how it begins, its state, whether a line goes down; and whether one goes through each level on its left. */
export const row = ({ level, begins, state, down, through }) =>
  [level, begins, state.id, ...(down ? ['down'] : []), ...through.map(it => (it ? '|' : '.'))].join(' ');
