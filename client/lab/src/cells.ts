/** Marks the cells of one notebook whose effect is undone: their number is grey and struck through. */
import type { Cell, CodeCell, ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';

import { isUndone } from './marks.js';
import type { TimeTravel } from './travel.js';

const UNDONE_CLASS = 'petri-mod-undone';
const WHY = 'This cell is undone: the session is in a state without it.';
const SETTLE_MS = 200;

/** Sets an attribute of a node, or takes it away where it is this module's. */
function tellWhy(node: HTMLElement | null, attribute: string, undone: boolean): void {
  if (undone) {
    node?.setAttribute(attribute, WHY);
  } else if (node?.getAttribute(attribute) === WHY) {
    node.removeAttribute(attribute);
  }
}

const isCode = (cell: Cell): cell is CodeCell => cell.model.type === 'code';

export class CellMarks {
  constructor(panel: NotebookPanel, travel: TimeTravel) {
    this._panel = panel;
    this._travel = travel;
    travel.changed.connect(this.update, this);
    panel.content.modelChanged.connect(this._soon, this);
    panel.content.modelContentChanged.connect(this._soon, this);
  }

  /** Looks at each cell. */
  update(): void {
    clearTimeout(this._timer);
    for (const cell of this._panel.content.widgets) {
      if (isCode(cell)) {
        this._mark(cell);
      }
    }
  }

  dispose(): void {
    clearTimeout(this._timer);
  }

  private _mark(cell: CodeCell): void {
    const model: ICodeCellModel = cell.model;
    const { timeline } = this._travel;
    const view = { count: model.executionCount, source: model.sharedModel.getSource() };
    const undone = timeline !== null && isUndone(timeline, view, this._travel.runOf(model.id));
    cell.toggleClass(UNDONE_CLASS, undone);
    tellWhy(cell.promptNode, 'title', undone);
    tellWhy(cell.node, 'aria-description', undone);
  }

  private _soon(): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this.update(), SETTLE_MS);
  }

  private _panel: NotebookPanel;
  private _travel: TimeTravel;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
