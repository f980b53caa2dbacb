/** Words and figures for readers, as the kernel's own table has them. */
import type { State, Way } from './timeline.js';

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** "1 cell", "2 cells". */
export const counted = (n: number, thing: string): string => `${n} ${thing}${n === 1 ? '' : 's'}`;

/** "1.2 MiB". */
export function sizeText(bytes: number): string {
  let scaled = bytes / 1024;
  let unit = 0;
  if (bytes < 1024) {
    return counted(bytes, 'byte');
  }
  for (; scaled >= 1024 && unit + 1 < UNITS.length; unit++) {
    scaled /= 1024;
  }
  return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/** "320 ms", "1.5 s", "2 min 3 s", "1 h 4 min". */
export function tookText(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (ms < 1000) {
    return `${ms} ms`;
  }
  if (s < 60) {
    return `${s}.${Math.floor((ms % 1000) / 100)} s`;
  }
  const min = Math.floor(s / 60);
  return s < 3600 ? `${min} min ${s % 60} s` : `${Math.floor(min / 60)} h ${min % 60} min`;
}

/** The time of day, and the day before it where that isn't today; '' for what is no date. */
export function whenText(started: string, now: Date): string {
  const date = new Date(started);
  if (started === '' || Number.isNaN(date.getTime())) {
    return '';
  }
  const two = (n: number) => String(n).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === now.toDateString() ? time : `${day} ${time}`;
}

/** "[3]", "first", or "·" for what no cell has left. */
export const numberText = (state: State): string =>
  state.count !== null ? `[${state.count}]` : state.parent === null ? 'first' : '·';

/** "the state after [3]", "the beginning". */
export function placeText(state: State): string {
  if (state.count === null) {
    return state.parent === null ? 'the beginning' : 'that state';
  }
  return `the state after [${state.count}]`;
}

/** What a state's cell cost, for the line below its code. */
export function detailText(state: State, now: Date): string {
  const parts = [
    whenText(state.started, now),
    state.started === '' ? '' : tookText(state.wallMs),
    state.bytes > 0 ? `+${sizeText(state.bytes)}` : '',
    state.files > 0 ? counted(state.files, 'file') : '',
    state.kept ? '' : 'gone'
  ];
  return parts.filter(part => part !== '').join(' · ');
}

const NUMBERS_MAX = 8;

/** " ([3], [4])", or '' where cells have no numbers. */
function numbersText(states: State[]): string {
  const numbers = states.filter(state => state.count !== null).map(numberText);
  const shown = numbers.slice(0, NUMBERS_MAX).join(', ') + (numbers.length > NUMBERS_MAX ? ', …' : '');
  return shown ? ` (${shown})` : '';
}

/** What going somewhere does, before one goes. */
export function wayText(way: Way): string {
  const sentences = [];
  if (way.undone.length > 0) {
    const one = way.undone.length === 1;
    sentences.push(`${counted(way.undone.length, 'cell')}${numbersText(way.undone)} ${one ? 'is' : 'are'} undone.`);
  }
  if (way.again.length > 0) {
    const one = way.again.length === 1;
    sentences.push(`${counted(way.again.length, 'cell')}${numbersText(way.again)} ${one ? 'is' : 'are'} there again.`);
  }
  return [...sentences, 'Nothing is lost: you can go back to where you are.'].join(' ');
}
