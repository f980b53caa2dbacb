/**
 * Which cells of a notebook are undone: those whose state is not among the states that the present one was made of.
 */
import type { State, Timeline } from './timeline.js';

/** A cell as the notebook has it. */
export interface CellView {
  /** Its number; null where it has none, or runs. */
  count: number | null;
  source: string;
}

/** A run of a cell that this page has sent. */
export interface CellRun {
  /** The run's id, which is its state's; null where the reply has none, or isn't there yet. */
  runId: string | null;
  /** The number that the cell has got. */
  count: number | null;
}

const CUT = '…';
const UNSEEN = '?';

/**
 * Whether a state's line is the first of a source, as the kernel shows it: without the white space around it, a tab as
 * a space, what can't be seen as "?", and cut with "…" where it is long.
 */
export function isFirstLine(line: string, source: string): boolean {
  const first = (source.replace(/^[ \t\r\n\f\v]+/, '').split(/[\r\n]/, 1)[0] ?? '').replace(/[ \t\f\v]+$/, '');
  const shown = [...line];
  const written = [...first.replace(/\t/g, ' ')];
  const cut = shown[shown.length - 1] === CUT && written.length >= shown.length;
  const until = cut ? shown.length - 1 : shown.length;
  return (
    (cut || shown.length === written.length) &&
    shown.slice(0, until).every((letter, i) => letter === UNSEEN || letter === written[i])
  );
}

/**
 * The state that a cell has left; null where none is known. What this page has sent is known by its run. Of other
 * pages, and from before the page was loaded, number and first line tell it, and the newest state that has both counts.
 */
export function stateOf(timeline: Timeline, cell: CellView, run?: CellRun): State | null {
  if (cell.count === null) {
    return null;
  }
  if (run && run.count === cell.count) {
    return (run.runId !== null && timeline.byId.get(run.runId)) || null;
  }
  const is = (state: State) => state.count === cell.count && isFirstLine(state.line, cell.source);
  return [...timeline.states].reverse().find(is) ?? null;
}

export function isUndone(timeline: Timeline, cell: CellView, run?: CellRun): boolean {
  const state = stateOf(timeline, cell, run);
  return state !== null && !timeline.path.has(state.id);
}
