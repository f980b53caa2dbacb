/**
 * A timeline as the kernel tells it, checked, and what follows from it. It comes from outside of the page: whatever
 * has another shape is left out, and nothing is longer than the limits here.
 */

/** One state that the session has had. */
export interface State {
  id: string;
  /** The state that its cell ran in; null for the first one. */
  parent: string | null;
  /** The number of the cell that left it; null for the first one, and for what no cell has left. */
  count: number | null;
  /** The first line of the cell's code. */
  line: string;
  names: string[];
  bytes: number;
  files: number;
  wallMs: number;
  /** When its cell began, ISO 8601; '' where nothing is known of it. */
  started: string;
  /** Whether one can go to it: older ones make room for newer ones. */
  kept: boolean;
}

export interface Timeline {
  /** By their making: a state comes after the one that it was made of. */
  states: State[];
  byId: Map<string, State>;
  current: State | null;
  /** The ids of the current state and of all that it was made of. */
  path: Set<string>;
}

/** The newest are read, as many as the kernel remembers at most, and some. */
const STATES_MAX = 5000;
const NAMES_MAX = 50;
const TEXT_MAX = 200;

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, TEXT_MAX) : '');

const numberOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;

function namesOf(value: unknown): string[] {
  const names = Array.isArray(value) ? value : [];
  return names.map(textOf).filter(name => name !== '').slice(0, NAMES_MAX);
}

function readState(value: unknown): State | null {
  if (!isFields(value) || typeof value.image !== 'string' || value.image === '' || value.image.length > TEXT_MAX) {
    return null;
  }
  return {
    id: value.image,
    parent: textOf(value.parent) || null,
    count: numberOf(value.execution_count) || null,
    line: textOf(value.code_first_line),
    names: namesOf(value.names),
    bytes: numberOf(value.bytes_changed),
    files: numberOf(value.files_changed),
    wallMs: numberOf(value.wall_ms),
    started: textOf(value.started),
    kept: value.kept === true
  };
}

/** The state that a state was made of, if it is known: only an earlier one can be it, so no circle is possible. */
export function parentOf(timeline: Pick<Timeline, 'byId'>, state: State): State | null {
  return (state.parent !== null && timeline.byId.get(state.parent)) || null;
}

function lineTo(timeline: Pick<Timeline, 'byId'>, state: State | null): State[] {
  const line = [];
  for (let at = state; at; at = parentOf(timeline, at)) {
    line.push(at);
  }
  return line;
}

/** Reads the content of a petri_timeline_reply; null where it is none. */
export function readTimeline(content: unknown): Timeline | null {
  if (!isFields(content) || content.status !== 'ok' || !Array.isArray(content.images)) {
    return null;
  }
  const byId = new Map<string, State>();
  for (const image of content.images.slice(-STATES_MAX)) {
    const state = readState(image);
    if (state && !byId.has(state.id)) {
      byId.set(state.id, state.parent !== null && !byId.has(state.parent) ? { ...state, parent: UNKNOWN } : state);
    }
  }
  const current = (typeof content.current === 'string' && byId.get(content.current)) || null;
  const path = new Set(lineTo({ byId }, current).map(state => state.id));
  return { states: [...byId.values()], byId, current, path };
}

/** The parent of a state whose parent isn't known: no id. */
const UNKNOWN = '';

/** A row of the drawn tree. */
export interface Row {
  state: State;
  /** Of indentation. */
  level: number;
  /** For each level to the left, whether a line goes down there to a row further below. */
  through: boolean[];
  /** How it is joined to what is above: below its parent, as a branch, as the last branch, or not at all. */
  begins: 'on' | 'branch' | 'last' | 'apart';
  /** Whether a line goes down from it. */
  down: boolean;
}

/** Branches that lie deeper in each other than this are not indented. */
const LEVELS_MAX = 8;

/** A node with one child goes on below it. Of several those without the current state are indented, before it. */
export function rowsOf(timeline: Timeline): Row[] {
  const children = new Map<string, State[]>();
  const roots: State[] = [];
  for (const state of timeline.states) {
    const parent = parentOf(timeline, state);
    if (!parent) {
      roots.push(state);
    } else if (!children.get(parent.id)?.push(state)) {
      children.set(parent.id, [state]);
    }
  }
  const rows: Row[] = [];
  const pending: Omit<Row, 'down'>[] = roots
    .map(state => ({ state, level: 0, through: [], begins: 'apart' as const }))
    .reverse();
  for (let row = pending.pop(); row; row = pending.pop()) {
    const { state, level, through } = row;
    const below = children.get(state.id) ?? [];
    const straight = below.length === 1 ? below[0] : below.find(child => timeline.path.has(child.id));
    const branches = below.filter(child => child !== straight);
    rows.push({ ...row, down: below.length > 0 && (level < LEVELS_MAX || straight !== undefined) });
    if (straight) {
      pending.push({ state: straight, level, through, begins: 'on' });
    }
    for (const [i, branch] of [...branches.entries()].reverse()) {
      const last = !straight && i === branches.length - 1;
      pending.push(
        level < LEVELS_MAX
          ? { state: branch, level: level + 1, through: [...through, !last], begins: last ? 'last' : 'branch' }
          : { state: branch, level, through, begins: 'apart' }
      );
    }
  }
  return rows;
}

/** What lies between the current state and another one; the first state is no cell. */
export interface Way {
  /** Cells that going there undoes, by their order. */
  undone: State[];
  /** Cells that are there again. */
  again: State[];
}

export function wayTo(timeline: Timeline, to: State): Way {
  const target = lineTo(timeline, to);
  const common = new Set(target.map(state => state.id));
  const isCell = (state: State) => state.parent !== null;
  return {
    undone: lineTo(timeline, timeline.current).filter(state => !common.has(state.id) && isCell(state)).reverse(),
    again: target.filter(state => !timeline.path.has(state.id) && isCell(state)).reverse()
  };
}

/** Whether there is a state before the current one that one can go to. */
export function canUndo(timeline: Timeline): boolean {
  return timeline.current !== null && parentOf(timeline, timeline.current)?.kept === true;
}

/** Whether something has been made of the current state: the kernel knows which of it was undone last. */
export function canRedo(timeline: Timeline): boolean {
  return timeline.states.some(state => state.kept && state.parent !== null && state.parent === timeline.current?.id);
}
