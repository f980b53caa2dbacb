"use strict";
(Array.isArray(self["webpackChunkpetri_timeline"]) ? self["webpackChunkpetri_timeline"] : (self["webpackChunkpetri_timeline"] = [])).push([["lib_index_js"],{

/***/ "./lib/index.js"
(__unused_webpack_module, __webpack_exports__, __webpack_require__) {

// ESM COMPAT FLAG
__webpack_require__.r(__webpack_exports__);

// EXPORTS
__webpack_require__.d(__webpack_exports__, {
  "default": () => (/* binding */ lib)
});

// EXTERNAL MODULE: consume shared module (default) @jupyterlab/application@^4.0.0 (singleton)
var application_4_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@jupyterlab/application");
// EXTERNAL MODULE: consume shared module (default) @jupyterlab/apputils@^4.0.0 (singleton)
var apputils_4_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@jupyterlab/apputils");
// EXTERNAL MODULE: consume shared module (default) @jupyterlab/notebook@^4.0.0 (singleton)
var notebook_4_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@jupyterlab/notebook");
// EXTERNAL MODULE: consume shared module (default) @jupyterlab/ui-components@^4.0.0 (singleton)
var ui_components_4_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@jupyterlab/ui-components");
;// ./lib/marks.js
const CUT = '…';
const UNSEEN = '?';
/**
 * Whether a state's line is the first of a source, as the kernel shows it: without the white space around it, a tab as
 * a space, what can't be seen as "?", and cut with "…" where it is long.
 */
function isFirstLine(line, source) {
    const first = (source.replace(/^[ \t\r\n\f\v]+/, '').split(/[\r\n]/, 1)[0] ?? '').replace(/[ \t\f\v]+$/, '');
    const shown = [...line];
    const written = [...first.replace(/\t/g, ' ')];
    const cut = shown[shown.length - 1] === CUT && written.length >= shown.length;
    const until = cut ? shown.length - 1 : shown.length;
    return ((cut || shown.length === written.length) &&
        shown.slice(0, until).every((letter, i) => letter === UNSEEN || letter === written[i]));
}
/**
 * The state that a cell has left; null where none is known. What this page has sent is known by its run. Of other
 * pages, and from before the page was loaded, number and first line tell it, and the newest state that has both counts.
 */
function stateOf(timeline, cell, run) {
    if (cell.count === null) {
        return null;
    }
    if (run && run.count === cell.count) {
        return (run.runId !== null && timeline.byId.get(run.runId)) || null;
    }
    const is = (state) => state.count === cell.count && isFirstLine(state.line, cell.source);
    return [...timeline.states].reverse().find(is) ?? null;
}
function isUndone(timeline, cell, run) {
    const state = stateOf(timeline, cell, run);
    return state !== null && !timeline.path.has(state.id);
}

;// ./lib/cells.js

const UNDONE_CLASS = 'petri-mod-undone';
const WHY = 'This cell is undone: the session is in a state without it.';
const SETTLE_MS = 200;
/** Sets an attribute of a node, or takes it away where it is this module's. */
function tellWhy(node, attribute, undone) {
    if (undone) {
        node?.setAttribute(attribute, WHY);
    }
    else if (node?.getAttribute(attribute) === WHY) {
        node.removeAttribute(attribute);
    }
}
const isCode = (cell) => cell.model.type === 'code';
class CellMarks {
    constructor(panel, travel) {
        this._panel = panel;
        this._travel = travel;
        travel.changed.connect(this.update, this);
        panel.content.modelChanged.connect(this._soon, this);
        panel.content.modelContentChanged.connect(this._soon, this);
    }
    /** Looks at each cell. */
    update() {
        clearTimeout(this._timer);
        for (const cell of this._panel.content.widgets) {
            if (isCode(cell)) {
                this._mark(cell);
            }
        }
    }
    dispose() {
        clearTimeout(this._timer);
    }
    _mark(cell) {
        const model = cell.model;
        const { timeline } = this._travel;
        const view = { count: model.executionCount, source: model.sharedModel.getSource() };
        const undone = timeline !== null && isUndone(timeline, view, this._travel.runOf(model.id));
        cell.toggleClass(UNDONE_CLASS, undone);
        tellWhy(cell.promptNode, 'title', undone);
        tellWhy(cell.node, 'aria-description', undone);
    }
    _soon() {
        clearTimeout(this._timer);
        this._timer = setTimeout(() => this.update(), SETTLE_MS);
    }
}

;// ./lib/icons.js

/** A line of states with a branch. */
const timelineIcon = new ui_components_4_0_singleton_.LabIcon({
    name: 'petri-timeline:timeline',
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2">
    <path d="M7 7.5v9M7 12h6.5a3 3 0 0 0 3-3V7.5"/>
  </g>
  <g class="jp-icon3" fill="#616161">
    <circle cx="7" cy="5" r="3"/><circle cx="7" cy="19" r="3"/><circle cx="16.5" cy="5" r="3"/>
  </g>
</svg>`
});
/** A label on a string. */
const nameIcon = new ui_components_4_0_singleton_.LabIcon({
    name: 'petri-timeline:name',
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" fill-rule="evenodd"
    d="M3 4a1 1 0 0 1 1-1h8.2a2 2 0 0 1 1.4.6l7 7a2 2 0 0 1 0 2.8l-7.2 7.2a2 2 0 0 1-2.8 0l-7-7A2 2 0 0 1 3 12.2z
      M5 5v7l7 7 7-7-7-7zM8 6.3a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 1 1 0-3.4z"/>
</svg>`
});

// EXTERNAL MODULE: consume shared module (default) @lumino/widgets@^2.0.0 (singleton)
var widgets_2_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@lumino/widgets");
;// ./lib/sentences.js
const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];
/** "1 cell", "2 cells". */
const counted = (n, thing) => `${n} ${thing}${n === 1 ? '' : 's'}`;
/** "1.2 MiB". */
function sizeText(bytes) {
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
function tookText(ms) {
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
function whenText(started, now) {
    const date = new Date(started);
    if (started === '' || Number.isNaN(date.getTime())) {
        return '';
    }
    const two = (n) => String(n).padStart(2, '0');
    const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
    const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    return date.toDateString() === now.toDateString() ? time : `${day} ${time}`;
}
/** "[3]", "first", or "·" for what no cell has left. */
const numberText = (state) => state.count !== null ? `[${state.count}]` : state.parent === null ? 'first' : '·';
/** "the state after [3]", "the beginning". */
function placeText(state) {
    if (state.count === null) {
        return state.parent === null ? 'the beginning' : 'that state';
    }
    return `the state after [${state.count}]`;
}
/** What a state's cell cost, for the line below its code. */
function detailText(state, now) {
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
function numbersText(states) {
    const numbers = states.filter(state => state.count !== null).map(numberText);
    const shown = numbers.slice(0, NUMBERS_MAX).join(', ') + (numbers.length > NUMBERS_MAX ? ', …' : '');
    return shown ? ` (${shown})` : '';
}
/** What going somewhere does, before one goes. */
function wayText(way) {
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

;// ./lib/timeline.js
/**
 * A timeline as the kernel tells it, checked, and what follows from it. It comes from outside of the page: whatever
 * has another shape is left out, and nothing is longer than the limits here.
 */
/** The newest are read, as many as the kernel remembers at most, and some. */
const STATES_MAX = 5000;
const NAMES_MAX = 50;
const TEXT_MAX = 200;
const isFields = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value) => (typeof value === 'string' ? value.slice(0, TEXT_MAX) : '');
const numberOf = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
function namesOf(value) {
    const names = Array.isArray(value) ? value : [];
    return names.map(textOf).filter(name => name !== '').slice(0, NAMES_MAX);
}
function readState(value) {
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
function parentOf(timeline, state) {
    return (state.parent !== null && timeline.byId.get(state.parent)) || null;
}
function lineTo(timeline, state) {
    const line = [];
    for (let at = state; at; at = parentOf(timeline, at)) {
        line.push(at);
    }
    return line;
}
/** Reads the content of a petri_timeline_reply; null where it is none. */
function readTimeline(content) {
    if (!isFields(content) || content.status !== 'ok' || !Array.isArray(content.images)) {
        return null;
    }
    const byId = new Map();
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
/** Branches that lie deeper in each other than this are not indented. */
const LEVELS_MAX = 8;
/** A node with one child goes on below it. Of several those without the current state are indented, before it. */
function rowsOf(timeline) {
    const children = new Map();
    const roots = [];
    for (const state of timeline.states) {
        const parent = parentOf(timeline, state);
        if (!parent) {
            roots.push(state);
        }
        else if (!children.get(parent.id)?.push(state)) {
            children.set(parent.id, [state]);
        }
    }
    const rows = [];
    const pending = roots
        .map(state => ({ state, level: 0, through: [], begins: 'apart' }))
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
            pending.push(level < LEVELS_MAX
                ? { state: branch, level: level + 1, through: [...through, !last], begins: last ? 'last' : 'branch' }
                : { state: branch, level, through, begins: 'apart' });
        }
    }
    return rows;
}
function wayTo(timeline, to) {
    const target = lineTo(timeline, to);
    const common = new Set(target.map(state => state.id));
    const isCell = (state) => state.parent !== null;
    return {
        undone: lineTo(timeline, timeline.current).filter(state => !common.has(state.id) && isCell(state)).reverse(),
        again: target.filter(state => !timeline.path.has(state.id) && isCell(state)).reverse()
    };
}
/** Whether there is a state before the current one that one can go to. */
function canUndo(timeline) {
    return timeline.current !== null && parentOf(timeline, timeline.current)?.kept === true;
}
/** Whether something has been made of the current state: the kernel knows which of it was undone last. */
function canRedo(timeline) {
    return timeline.states.some(state => state.kept && state.parent !== null && state.parent === timeline.current?.id);
}

;// ./lib/panel.js
/**
 * The side panel: the timeline of the current notebook as a tree. All texts of it are set as text, never as HTML.
 *
 * Arrow keys, Home and End go from row to row, Left to the state that a state was made of, Right to what was made of
 * it. Enter, or a click, goes to the state; Delete takes its name away.
 */




/** So many of the newest rows are drawn. */
const ROWS_MAX = 1000;
const SENTENCES = {
    unknown: 'The kernel has not answered yet.',
    none: 'This notebook has no kernel.',
    other: 'This kernel has no timeline.',
    petri: 'The kernel has not told its timeline yet.'
};
const NO_NOTEBOOK = 'The timeline of the current notebook is shown here.';
const GONE = 'This state is gone: older ones make room for newer ones.';
function panel_element(tag, className, text = '') {
    const node = document.createElement(tag);
    node.className = className;
    node.textContent = text;
    return node;
}
/** The lines that join a row to those above and below it. */
function graphOf(row) {
    const graph = panel_element('div', 'petri-Timeline-graph');
    graph.setAttribute('aria-hidden', 'true');
    row.through.forEach((through, i) => {
        const column = panel_element('span', 'petri-Timeline-column');
        column.classList.toggle('petri-mod-through', through);
        column.classList.toggle('petri-mod-up', i === row.level - 1 && row.begins === 'last');
        graph.append(column);
    });
    const own = panel_element('span', 'petri-Timeline-column petri-mod-own');
    own.classList.toggle('petri-mod-up', row.begins === 'on');
    own.classList.toggle('petri-mod-branch', row.begins === 'branch' || row.begins === 'last');
    own.classList.toggle('petri-mod-down', row.down);
    own.append(panel_element('span', 'petri-Timeline-dot'));
    graph.append(own);
    return graph;
}
class Tree extends widgets_2_0_singleton_.Widget {
    constructor(actions) {
        super();
        this._timeline = null;
        this._actions = actions;
        this.addClass('petri-Timeline-tree');
        this.node.setAttribute('role', 'tree');
        this.node.setAttribute('aria-label', 'Timeline');
    }
    /** Draws a timeline; the row that had the focus has it again. */
    draw(timeline) {
        const focused = document.activeElement?.closest('[role=treeitem]')?.dataset.state;
        const moved = timeline.current?.id !== this._timeline?.current?.id;
        this._timeline = timeline;
        const rows = rowsOf(timeline);
        const shown = rows.slice(-ROWS_MAX);
        const left = rows.length - shown.length;
        const more = left > 0 ? [panel_element('div', 'petri-Timeline-more', `${left} rows above are not shown.`)] : [];
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
    handleEvent(event) {
        const target = event.target instanceof Element ? event.target : null;
        const row = target?.closest('[role=treeitem]') ?? null;
        const state = this._timeline?.byId.get(row?.dataset.state ?? '');
        if (!row || !state) {
            return;
        }
        if (event.type === 'click') {
            const name = target?.closest('button')?.dataset.name;
            if (name !== undefined) {
                this._actions.forgetName(name);
            }
            else {
                this._focus(row);
                this._actions.restore(state);
            }
        }
        else if (event instanceof KeyboardEvent && target === row && this._press(event.key, row, state)) {
            event.preventDefault();
            event.stopPropagation();
        }
    }
    onAfterAttach(msg) {
        super.onAfterAttach(msg);
        this.node.addEventListener('click', this);
        this.node.addEventListener('keydown', this);
    }
    onBeforeDetach(msg) {
        this.node.removeEventListener('click', this);
        this.node.removeEventListener('keydown', this);
        super.onBeforeDetach(msg);
    }
    /** Whether the key means anything here. */
    _press(key, row, state) {
        const rows = this._rows();
        const at = rows.indexOf(row);
        const child = this._timeline?.states.find(one => one.parent === state.id);
        const parent = this._timeline ? parentOf(this._timeline, state) : null;
        const keys = {
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
    _focus(row) {
        if (row) {
            this._rows().forEach(one => one.setAttribute('tabindex', one === row ? '0' : '-1'));
            row.focus();
        }
    }
    _rows() {
        return [...this.node.querySelectorAll('[role=treeitem]')];
    }
    _rowOf(id) {
        return id === undefined ? undefined : this._rows().find(row => row.dataset.state === id);
    }
    _rowNode(row, timeline) {
        const { state } = row;
        const current = state === timeline.current;
        const node = panel_element('div', 'petri-Timeline-row');
        const head = panel_element('div', 'petri-Timeline-head');
        const text = panel_element('div', 'petri-Timeline-text');
        head.append(panel_element('span', 'petri-Timeline-number', numberText(state)));
        head.append(panel_element('code', 'petri-Timeline-line', state.line));
        head.append(...(current ? [panel_element('span', 'petri-Timeline-now', 'now')] : []));
        text.append(head);
        const detail = detailText(state, new Date());
        text.append(...(detail ? [panel_element('div', 'petri-Timeline-detail', detail)] : []));
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
    _namesNode(state) {
        const names = panel_element('div', 'petri-Timeline-names');
        for (const name of state.names) {
            const chip = panel_element('span', 'petri-Timeline-name');
            const button = panel_element('button', 'petri-Timeline-forget');
            button.setAttribute('type', 'button');
            button.setAttribute('tabindex', '-1'); /* Delete, in the row, does the same */
            button.setAttribute('aria-label', `Forget the name ${name}`);
            button.title = `Forget the name ${name}`;
            button.dataset.name = name;
            ui_components_4_0_singleton_.closeIcon.element({ container: button, tag: 'span' });
            button.className = 'petri-Timeline-forget';
            chip.append(panel_element('span', 'petri-Timeline-label', name), button);
            names.append(chip);
        }
        return names;
    }
}
class TimelinePanel extends widgets_2_0_singleton_.Panel {
    /** toolbar: shown above the tree where there is one. */
    constructor(toolbar, actions) {
        super();
        this._travel = null;
        this.addClass('petri-Timeline');
        this._toolbar = toolbar;
        this._tree = new Tree(actions);
        this._sentence = new widgets_2_0_singleton_.Widget({ node: panel_element('p', 'petri-Timeline-sentence') });
        this._told = new widgets_2_0_singleton_.Widget({ node: panel_element('div', 'petri-Timeline-told') });
        this._told.node.setAttribute('role', 'status');
        [toolbar, this._sentence, this._tree, this._told].forEach(widget => this.addWidget(widget));
    }
    /** Shows the timeline of a notebook, from now on; null where no notebook is open. */
    set travel(travel) {
        this._travel?.changed.disconnect(this._draw, this);
        this._travel = travel;
        travel?.changed.connect(this._draw, this);
        this._draw();
    }
    onAfterShow(msg) {
        super.onAfterShow(msg);
        this._draw();
    }
    onAfterAttach(msg) {
        super.onAfterAttach(msg);
        this._draw();
    }
    _draw() {
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
}

// EXTERNAL MODULE: consume shared module (default) @jupyterlab/services@^7.0.0 (singleton)
var services_7_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@jupyterlab/services");
// EXTERNAL MODULE: consume shared module (default) @lumino/signaling@^2.0.0 (singleton)
var signaling_2_0_singleton_ = __webpack_require__("webpack/sharing/consume/default/@lumino/signaling");
;// ./lib/travel.js



const travel_SETTLE_MS = 150;
/** What may change a timeline. petri_timeline_request is not among it: two pages would ask each other forever. */
const CHANGES = ['execute_request', 'petri_restore_request', 'petri_checkpoint_request', 'petri_forget_request'];
const textIn = (content, key) => {
    const value = typeof content === 'object' && content !== null ? content[key] : undefined;
    return typeof value === 'string' ? value.slice(0, 1000) : '';
};
const sentence = (text) => text ? `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.` : '';
class TimeTravel {
    constructor(context) {
        this._kernel = null;
        this._kind = 'none';
        this._timeline = null;
        this._runs = new Map();
        this._sent = new Map(); /* requests that wait for their reply: the id of each, its cell's */
        this._generation = 0;
        this._changed = new signaling_2_0_singleton_.Signal(this);
        this._context = context;
        context.kernelChanged.connect(this._onKernel, this);
        context.statusChanged.connect(this._onStatus, this);
        this._onKernel();
    }
    /** Emitted when anything that one can ask of this object has changed. */
    get changed() {
        return this._changed;
    }
    get kind() {
        return this._kind;
    }
    /** null where there is none, or none yet. */
    get timeline() {
        return this._timeline;
    }
    /** What this page knows of the last run of a cell, by the cell's id. */
    runOf(cellId) {
        return this._runs.get(cellId);
    }
    /** Goes somewhere; resolves to what that has changed, a sentence. Rejects with an error that says why not. */
    async go(where) {
        return sentence(textIn(await this._ask('petri_restore_request', where), 'detail'));
    }
    /** Gives the present state a name. */
    async name(name) {
        await this._ask('petri_checkpoint_request', { name });
    }
    /** Takes a name away. */
    async forget(name) {
        await this._ask('petri_forget_request', { name });
    }
    dispose() {
        clearTimeout(this._timer);
        this._generation++;
        signaling_2_0_singleton_.Signal.clearData(this);
    }
    _onKernel() {
        const kernel = this._context.session?.kernel ?? null;
        this._kernel?.anyMessage.disconnect(this._onMessage, this);
        this._kernel = kernel;
        this._reset(kernel ? 'unknown' : 'none');
        kernel?.anyMessage.connect(this._onMessage, this);
        kernel?.info.then(info => {
            if (this._kernel === kernel) {
                this._kind = info.implementation === 'petri' ? 'petri' : 'other';
                this._changed.emit();
                void this._refresh();
            }
        }, () => undefined /* it has died, or another one has come */);
    }
    _reset(kind) {
        clearTimeout(this._timer);
        this._generation++;
        this._kind = kind;
        this._timeline = null;
        this._runs.clear();
        this._sent.clear();
        this._changed.emit();
    }
    /** A session that begins anew has another timeline. */
    _onStatus(_, status) {
        if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
            this._reset(this._kind);
        }
        else if (status === 'idle' && !this._timeline) {
            this._refreshSoon();
        }
    }
    _onMessage(_, { msg, direction }) {
        if (direction === 'send') {
            this._noteSent(msg);
        }
        else if (msg.header.msg_type === 'execute_reply') {
            this._noteReply(msg);
        }
        else if (services_7_0_singleton_.KernelMessage.isStatusMsg(msg) && msg.content.execution_state === 'idle') {
            const parent = 'msg_type' in msg.parent_header ? msg.parent_header.msg_type : '';
            if (CHANGES.includes(parent)) {
                this._refreshSoon();
            }
        }
    }
    _noteSent(msg) {
        const cellId = textIn(msg.metadata, 'cellId');
        if (msg.header.msg_type === 'execute_request' && cellId) {
            this._sent.set(msg.header.msg_id, cellId);
            this._runs.set(cellId, { runId: null, count: null });
            this._changed.emit();
        }
    }
    _noteReply(msg) {
        const request = textIn(msg.parent_header, 'msg_id');
        const cellId = this._sent.get(request);
        const count = msg.content.execution_count;
        this._sent.delete(request);
        if (cellId) {
            const runId = textIn(msg.metadata.petri, 'run_id') || null;
            this._runs.set(cellId, { runId, count: typeof count === 'number' ? count : null });
        }
    }
    _refreshSoon() {
        if (this._kind === 'petri') {
            clearTimeout(this._timer);
            this._timer = setTimeout(() => void this._refresh(), travel_SETTLE_MS);
        }
    }
    async _refresh() {
        const generation = ++this._generation;
        if (this._kind !== 'petri') {
            return;
        }
        const content = await this._ask('petri_timeline_request', {}).catch(() => null);
        const timeline = readTimeline(content);
        if (generation === this._generation && timeline) {
            this._timeline = timeline;
            this._changed.emit();
        }
    }
    /** Sends a request; resolves to the reply's content. */
    async _ask(type, content) {
        const kernel = this._kernel;
        if (!kernel || this._kind !== 'petri') {
            throw new Error('This kernel has no timeline.');
        }
        const msg = services_7_0_singleton_.KernelMessage.createMessage({
            /* JupyterLab's type lists what it sends itself. */
            msgType: type,
            channel: 'control',
            username: kernel.username,
            session: kernel.clientId,
            content
        });
        const reply = await kernel.sendControlMessage(msg, true).done;
        const answer = reply?.content;
        if (textIn(answer, 'status') !== 'ok') {
            throw new Error(sentence(textIn(answer, 'evalue')) || 'The kernel has given no answer.');
        }
        return answer;
    }
}

;// ./lib/index.js
/** petri's time travel in JupyterLab: commands, the buttons of a notebook's toolbar, the side panel, marks at cells. */










const ID = 'petri-timeline';
const SHOWN_MS = 4000;
const COMMANDS = {
    undo: `${ID}:undo`,
    redo: `${ID}:redo`,
    name: `${ID}:name`,
    forget: `${ID}:forget`,
    show: `${ID}:show`
};
/** The notebooks of this page, each with its kernel's timeline. */
class Notebooks {
    constructor(tracker) {
        this._travels = new Map();
        this._tracker = tracker;
    }
    /** Follows a notebook until it is closed. changed is called with each change of its timeline. */
    add(panel, changed) {
        const travel = new TimeTravel(panel.sessionContext);
        const marks = new CellMarks(panel, travel);
        travel.changed.connect(changed);
        this._travels.set(panel.id, travel);
        panel.disposed.connect(() => {
            this._travels.delete(panel.id);
            marks.dispose();
            travel.dispose();
            changed();
        });
    }
    /** That of the notebook that a button belongs to, or of the current one. */
    of(args) {
        const id = typeof args.notebook === 'string' ? args.notebook : this._tracker.currentWidget?.id;
        return (id !== undefined && this._travels.get(id)) || null;
    }
    get current() {
        return this.of({});
    }
}
const reasonOf = (error) => (error instanceof Error ? error.message : String(error));
/** Shows why something wasn't done. */
async function tell(done) {
    await done.catch(error => apputils_4_0_singleton_.Notification.error(reasonOf(error), { autoClose: SHOWN_MS }));
}
/** Goes somewhere, and says what that has changed. */
async function go(travel, where) {
    apputils_4_0_singleton_.Notification.info(await travel.go(where), { autoClose: SHOWN_MS });
}
/** Goes to a state if the reader agrees. */
async function restore(travel, state) {
    const { timeline } = travel;
    if (!timeline || state === timeline.current || !state.kept) {
        return;
    }
    const { button } = await (0,apputils_4_0_singleton_.showDialog)({
        title: `Go to ${placeText(state)}?`,
        body: wayText(wayTo(timeline, state)),
        buttons: [apputils_4_0_singleton_.Dialog.cancelButton(), apputils_4_0_singleton_.Dialog.okButton({ label: 'Go' })]
    });
    if (button.accept) {
        await go(travel, { to: state.id });
    }
}
async function lib_name(travel) {
    const { value } = await apputils_4_0_singleton_.InputDialog.getText({
        title: 'Name the present state',
        label: 'A name without spaces, by which you can go back:',
        okLabel: 'Name'
    });
    if (value) {
        await travel.name(value.trim());
    }
}
const namesIn = (timeline) => timeline.states.flatMap(state => state.names);
/** Takes one of these names away; the reader chooses where there are several. */
async function forget(travel, names) {
    if (names.length === 0) {
        return;
    }
    const { value } = names.length === 1 ? { value: names[0] } : await apputils_4_0_singleton_.InputDialog.getItem({ title: 'Forget a name', items: names });
    if (value) {
        await travel.forget(value);
    }
}
const TABLE = [
    {
        id: COMMANDS.undo,
        label: 'Undo the Last Cell That Ran',
        icon: ui_components_4_0_singleton_.undoIcon,
        caption: ({ current }) => `Take the session back to before ${current?.count ? numberText(current) : 'its last cell'}`,
        isEnabled: canUndo,
        run: travel => go(travel, { undo: 1 })
    },
    {
        id: COMMANDS.redo,
        label: 'Redo the Cell That Was Undone',
        icon: ui_components_4_0_singleton_.redoIcon,
        caption: () => 'Take the session on again by one cell',
        isEnabled: canRedo,
        run: travel => go(travel, { redo: 1 })
    },
    {
        id: COMMANDS.name,
        label: 'Name the Present State…',
        icon: nameIcon,
        caption: () => 'Give the present state a name',
        isEnabled: timeline => timeline.current !== null,
        run: lib_name
    },
    {
        id: COMMANDS.forget,
        label: 'Forget the Name of a State…',
        caption: () => 'Take a name away',
        isEnabled: timeline => namesIn(timeline).length > 0,
        run: travel => forget(travel, travel.timeline ? namesIn(travel.timeline) : [])
    }
];
function addCommands({ commands, shell }, notebooks) {
    for (const { id, label, icon, caption, isEnabled, run } of TABLE) {
        const timelineOf = (args) => notebooks.of(args)?.timeline ?? null;
        commands.addCommand(id, {
            label,
            ...(icon ? { icon } : {}),
            caption: args => {
                const timeline = timelineOf(args);
                return timeline ? caption(timeline) : '';
            },
            isVisible: args => notebooks.of(args)?.kind === 'petri',
            isEnabled: args => {
                const timeline = timelineOf(args);
                return timeline !== null && isEnabled(timeline);
            },
            execute: args => {
                const travel = notebooks.of(args);
                return travel ? tell(run(travel)) : undefined;
            }
        });
    }
    commands.addCommand(COMMANDS.show, {
        label: 'Show the Timeline',
        caption: 'Show the states that the session has had',
        icon: timelineIcon,
        execute: () => shell.activateById(ID)
    });
}
/** What the panel's own buttons are called. */
const LABELS = [
    [COMMANDS.undo, 'Undo'],
    [COMMANDS.redo, 'Redo'],
    [COMMANDS.name, 'Name…']
];
function makePanel({ commands }, notebooks) {
    const toolbar = new apputils_4_0_singleton_.Toolbar();
    const panel = new TimelinePanel(toolbar, {
        restore: state => void (notebooks.current && tell(restore(notebooks.current, state))),
        forget: state => void (notebooks.current && tell(forget(notebooks.current, state.names))),
        forgetName: name => void (notebooks.current && tell(notebooks.current.forget(name)))
    });
    panel.id = ID;
    panel.title.icon = timelineIcon;
    panel.title.caption = 'Timeline (petri)';
    panel.node.setAttribute('role', 'region');
    panel.node.setAttribute('aria-label', "Timeline of the notebook's kernel");
    LABELS.forEach(([id, label]) => toolbar.addItem(id, new apputils_4_0_singleton_.CommandToolbarButton({ commands, id, label })));
    return panel;
}
const lib_plugin = {
    id: `${ID}:plugin`,
    description: "petri's time travel: a timeline, undo and redo, marks at cells that are undone.",
    autoStart: true,
    requires: [notebook_4_0_singleton_.INotebookTracker],
    optional: [apputils_4_0_singleton_.ICommandPalette, application_4_0_singleton_.ILayoutRestorer],
    activate: (app, tracker, palette, restorer) => {
        const { commands } = app;
        const notebooks = new Notebooks(tracker);
        addCommands(app, notebooks);
        const panel = makePanel(app, notebooks);
        app.shell.add(panel, 'right', { rank: 900 });
        restorer?.add(panel, ID);
        const follow = () => {
            panel.travel = notebooks.current;
            commands.notifyCommandChanged();
        };
        tracker.currentChanged.connect(follow);
        const adopt = (notebook) => {
            notebooks.add(notebook, () => TABLE.forEach(({ id }) => commands.notifyCommandChanged(id)));
            const args = { notebook: notebook.id };
            const button = (id) => new apputils_4_0_singleton_.CommandToolbarButton({ commands, id, args, label: '' });
            notebook.toolbar.insertItem(10, COMMANDS.undo, button(COMMANDS.undo));
            notebook.toolbar.insertItem(11, COMMANDS.redo, button(COMMANDS.redo));
            follow();
        };
        tracker.forEach(adopt);
        tracker.widgetAdded.connect((_, notebook) => adopt(notebook));
        Object.values(COMMANDS).forEach(command => palette?.addItem({ command, category: 'Time Travel' }));
    }
};
/* harmony default export */ const lib = (lib_plugin);


/***/ }

}]);