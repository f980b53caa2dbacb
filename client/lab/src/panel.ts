/**
 * The side panel: the timeline of the current notebook as a tree. All texts of it are set as text, never as HTML.
 *
 * Arrow keys, Home and End go from row to row, Left to the state that a state was made of, Right to what was made of
 * it. Enter, or a click, goes to the state; Delete takes its name away.
 */
import { closeIcon } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';

import { detailText, numberText, placeText } from './sentences.js';
import { parentOf, type Row, rowsOf, type State, type Timeline } from './timeline.js';
import type { Kind, TimeTravel } from './travel.js';

/** So many of the newest rows are drawn. */
const ROWS_MAX = 1000;

const SENTENCES: Record<Kind, string> = {
  unknown: 'The kernel has not answered yet.',
  none: 'This notebook has no kernel.',
  other: 'This kernel has no timeline.',
  petri: 'The kernel has not told its timeline yet.'
};
const NO_NOTEBOOK = 'The timeline of the current notebook is shown here.';
const GONE = 'This state is gone: older ones make room for newer ones.';

/** What the panel asks for when a reader does something in it. */
export interface Actions {
  restore(state: State): void;
  forget(state: State): void;
  forgetName(name: string): void;
}

function element(tag: string, className: string, text = ''): HTMLElement {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

/** The lines that join a row to those above and below it. */
function graphOf(row: Row): HTMLElement {
  const graph = element('div', 'petri-Timeline-graph');
  graph.setAttribute('aria-hidden', 'true');
  row.through.forEach((through, i) => {
    const column = element('span', 'petri-Timeline-column');
    column.classList.toggle('petri-mod-through', through);
    column.classList.toggle('petri-mod-up', i === row.level - 1 && row.begins === 'last');
    graph.append(column);
  });
  const own = element('span', 'petri-Timeline-column petri-mod-own');
  own.classList.toggle('petri-mod-up', row.begins === 'on');
  own.classList.toggle('petri-mod-branch', row.begins === 'branch' || row.begins === 'last');
  own.classList.toggle('petri-mod-down', row.down);
  own.append(element('span', 'petri-Timeline-dot'));
  graph.append(own);
  return graph;
}

class Tree extends Widget {
  constructor(actions: Actions) {
    super();
    this._actions = actions;
    this.addClass('petri-Timeline-tree');
    this.node.setAttribute('role', 'tree');
    this.node.setAttribute('aria-label', 'Timeline');
  }

  /** Draws a timeline; the row that had the focus has it again. */
  draw(timeline: Timeline): void {
    const focused = document.activeElement?.closest<HTMLElement>('[role=treeitem]')?.dataset.state;
    const moved = timeline.current?.id !== this._timeline?.current?.id;
    this._timeline = timeline;
    const rows = rowsOf(timeline);
    const shown = rows.slice(-ROWS_MAX);
    const left = rows.length - shown.length;
    const more = left > 0 ? [element('div', 'petri-Timeline-more', `${left} rows above are not shown.`)] : [];
    this.node.replaceChildren(...more, ...shown.map(row => this._rowNode(row, timeline)));
    const tab = this._rowOf(focused) ?? this._rowOf(timeline.current?.id) ?? this._rows()[0];
    tab?.setAttribute('tabindex', '0');
    if (focused !== undefined && this._rowOf(focused)) {
      tab?.focus();
    }
    if (moved) {
      this._rowOf(timeline.current?.id)?.scrollIntoView({ block: 'nearest' });
    }
  }

  handleEvent(event: Event): void {
    const target = event.target instanceof Element ? event.target : null;
    const row = target?.closest<HTMLElement>('[role=treeitem]') ?? null;
    const state = this._timeline?.byId.get(row?.dataset.state ?? '');
    if (!row || !state) {
      return;
    }
    if (event.type === 'click') {
      const name = target?.closest<HTMLElement>('button')?.dataset.name;
      if (name !== undefined) {
        this._actions.forgetName(name);
      } else {
        this._focus(row);
        this._actions.restore(state);
      }
    } else if (event instanceof KeyboardEvent && target === row && this._press(event.key, row, state)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this.node.addEventListener('click', this);
    this.node.addEventListener('keydown', this);
  }

  protected override onBeforeDetach(msg: Message): void {
    this.node.removeEventListener('click', this);
    this.node.removeEventListener('keydown', this);
    super.onBeforeDetach(msg);
  }

  /** Whether the key means anything here. */
  private _press(key: string, row: HTMLElement, state: State): boolean {
    const rows = this._rows();
    const at = rows.indexOf(row);
    const child = this._timeline?.states.find(one => one.parent === state.id);
    const parent = this._timeline ? parentOf(this._timeline, state) : null;
    const keys: Record<string, () => void> = {
      ArrowUp: () => this._focus(rows[at - 1]),
      ArrowDown: () => this._focus(rows[at + 1]),
      Home: () => this._focus(rows[0]),
      End: () => this._focus(rows[rows.length - 1]),
      ArrowLeft: () => this._focus(this._rowOf(parent?.id)),
      ArrowRight: () => this._focus(this._rowOf(child?.id)),
      Enter: () => this._actions.restore(state),
      ' ': () => this._actions.restore(state),
      Delete: () => this._actions.forget(state)
    };
    keys[key]?.();
    return key in keys;
  }

  private _focus(row: HTMLElement | undefined): void {
    if (row) {
      this._rows().forEach(one => one.setAttribute('tabindex', one === row ? '0' : '-1'));
      row.focus();
    }
  }

  private _rows(): HTMLElement[] {
    return [...this.node.querySelectorAll<HTMLElement>('[role=treeitem]')];
  }

  private _rowOf(id: string | undefined): HTMLElement | undefined {
    return id === undefined ? undefined : this._rows().find(row => row.dataset.state === id);
  }

  private _rowNode(row: Row, timeline: Timeline): HTMLElement {
    const { state } = row;
    const current = state === timeline.current;
    const node = element('div', 'petri-Timeline-row');
    const head = element('div', 'petri-Timeline-head');
    const text = element('div', 'petri-Timeline-text');
    head.append(element('span', 'petri-Timeline-number', numberText(state)));
    head.append(element('code', 'petri-Timeline-line', state.line));
    head.append(...(current ? [element('span', 'petri-Timeline-now', 'now')] : []));
    text.append(head);
    const detail = detailText(state, new Date());
    text.append(...(detail ? [element('div', 'petri-Timeline-detail', detail)] : []));
    text.append(...(state.names.length > 0 ? [this._namesNode(state)] : []));
    node.append(graphOf(row), text);
    node.setAttribute('role', 'treeitem');
    node.setAttribute('tabindex', '-1');
    node.setAttribute('aria-level', String(row.level + 1));
    node.setAttribute('aria-selected', String(current));
    node.setAttribute('aria-disabled', String(!state.kept));
    node.dataset.state = state.id;
    node.title = state.kept ? state.line : GONE;
    node.classList.toggle('petri-mod-current', current);
    node.classList.toggle('petri-mod-away', !timeline.path.has(state.id));
    node.classList.toggle('petri-mod-gone', !state.kept);
    if (current) {
      node.setAttribute('aria-current', 'true');
    }
    return node;
  }

  private _namesNode(state: State): HTMLElement {
    const names = element('div', 'petri-Timeline-names');
    for (const name of state.names) {
      const chip = element('span', 'petri-Timeline-name');
      const button = element('button', 'petri-Timeline-forget');
      button.setAttribute('type', 'button');
      button.setAttribute('tabindex', '-1'); /* Delete, in the row, does the same */
      button.setAttribute('aria-label', `Forget the name ${name}`);
      button.title = `Forget the name ${name}`;
      button.dataset.name = name;
      closeIcon.element({ container: button, tag: 'span' });
      button.className = 'petri-Timeline-forget';
      chip.append(element('span', 'petri-Timeline-label', name), button);
      names.append(chip);
    }
    return names;
  }

  private _actions: Actions;
  private _timeline: Timeline | null = null;
}

export class TimelinePanel extends Panel {
  /** toolbar: shown above the tree where there is one. */
  constructor(toolbar: Widget, actions: Actions) {
    super();
    this.addClass('petri-Timeline');
    this._toolbar = toolbar;
    this._tree = new Tree(actions);
    this._sentence = new Widget({ node: element('p', 'petri-Timeline-sentence') });
    this._told = new Widget({ node: element('div', 'petri-Timeline-told') });
    this._told.node.setAttribute('role', 'status');
    [toolbar, this._sentence, this._tree, this._told].forEach(widget => this.addWidget(widget));
  }

  /** Shows the timeline of a notebook, from now on; null where no notebook is open. */
  set travel(travel: TimeTravel | null) {
    this._travel?.changed.disconnect(this._draw, this);
    this._travel = travel;
    travel?.changed.connect(this._draw, this);
    this._draw();
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._draw();
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this._draw();
  }

  private _draw(): void {
    if (!this.isVisible) {
      return;
    }
    const timeline = this._travel?.timeline ?? null;
    this._toolbar.setHidden(!timeline);
    this._tree.setHidden(!timeline);
    this._sentence.setHidden(timeline !== null);
    this._sentence.node.textContent = this._travel ? SENTENCES[this._travel.kind] : NO_NOTEBOOK;
    if (timeline) {
      this._tree.draw(timeline);
      this._told.node.textContent = timeline.current ? `The session is at ${placeText(timeline.current)}.` : '';
    }
  }

  private _toolbar: Widget;
  private _tree: Tree;
  private _sentence: Widget;
  private _told: Widget; /* for who hears the page */
  private _travel: TimeTravel | null = null;
}
