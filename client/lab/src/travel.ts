/**
 * The timeline of one notebook's kernel, and the requests that go back and forth in it.
 *
 * petri answers on the control channel, also while a cell runs. Each request has its busy and idle status on iopub, for
 * all who listen, and that is how a page learns of what another one did: whenever one that may change the timeline is
 * over, the timeline is asked for anew.
 */
import type { ISessionContext } from '@jupyterlab/apputils';
import { type Kernel, KernelMessage } from '@jupyterlab/services';
import { type ISignal, Signal } from '@lumino/signaling';

import type { CellRun } from './marks.js';
import { readTimeline, type Timeline } from './timeline.js';

const SETTLE_MS = 150;

/** What may change a timeline. petri_timeline_request is not among it: two pages would ask each other forever. */
const CHANGES = ['execute_request', 'petri_restore_request', 'petri_checkpoint_request', 'petri_forget_request'];

/** Whether a kernel has a timeline: not known yet, no kernel, another kernel, petri. */
export type Kind = 'unknown' | 'none' | 'other' | 'petri';

type Content = Record<string, unknown>;

/** Where to go: a state's id, or so many cells back or on. */
export type Destination = { to: string } | { undo: number } | { redo: number };

const textIn = (content: unknown, key: string): string => {
  const value = typeof content === 'object' && content !== null ? (content as Content)[key] : undefined;
  return typeof value === 'string' ? value.slice(0, 1000) : '';
};

const sentence = (text: string): string =>
  text ? `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.` : '';

export class TimeTravel {
  constructor(context: ISessionContext) {
    this._context = context;
    context.kernelChanged.connect(this._onKernel, this);
    context.statusChanged.connect(this._onStatus, this);
    this._onKernel();
  }

  /** Emitted when anything that one can ask of this object has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get kind(): Kind {
    return this._kind;
  }

  /** null where there is none, or none yet. */
  get timeline(): Timeline | null {
    return this._timeline;
  }

  /** What this page knows of the last run of a cell, by the cell's id. */
  runOf(cellId: string): CellRun | undefined {
    return this._runs.get(cellId);
  }

  /** Goes somewhere; resolves to what that has changed, a sentence. Rejects with an error that says why not. */
  async go(where: Destination): Promise<string> {
    return sentence(textIn(await this._ask('petri_restore_request', where), 'detail'));
  }

  /** Gives the present state a name. */
  async name(name: string): Promise<void> {
    await this._ask('petri_checkpoint_request', { name });
  }

  /** Takes a name away. */
  async forget(name: string): Promise<void> {
    await this._ask('petri_forget_request', { name });
  }

  dispose(): void {
    clearTimeout(this._timer);
    this._generation++;
    Signal.clearData(this);
  }

  private _onKernel(): void {
    const kernel = this._context.session?.kernel ?? null;
    this._kernel?.anyMessage.disconnect(this._onMessage, this);
    this._kernel = kernel;
    this._reset(kernel ? 'unknown' : 'none');
    kernel?.anyMessage.connect(this._onMessage, this);
    kernel?.info.then(
      info => {
        if (this._kernel === kernel) {
          this._kind = info.implementation === 'petri' ? 'petri' : 'other';
          this._changed.emit();
          void this._refresh();
        }
      },
      () => undefined /* it has died, or another one has come */
    );
  }

  private _reset(kind: Kind): void {
    clearTimeout(this._timer);
    this._generation++;
    this._kind = kind;
    this._timeline = null;
    this._runs.clear();
    this._sent.clear();
    this._changed.emit();
  }

  /** A session that begins anew has another timeline. */
  private _onStatus(_: ISessionContext, status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
      this._reset(this._kind);
    } else if (status === 'idle' && !this._timeline) {
      this._refreshSoon();
    }
  }

  private _onMessage(_: Kernel.IKernelConnection, { msg, direction }: Kernel.IAnyMessageArgs): void {
    if (direction === 'send') {
      this._noteSent(msg);
    } else if (msg.header.msg_type === 'execute_reply') {
      this._noteReply(msg);
    } else if (KernelMessage.isStatusMsg(msg) && msg.content.execution_state === 'idle') {
      const parent: string = 'msg_type' in msg.parent_header ? msg.parent_header.msg_type : '';
      if (CHANGES.includes(parent)) {
        this._refreshSoon();
      }
    }
  }

  private _noteSent(msg: KernelMessage.IMessage): void {
    const cellId = textIn(msg.metadata, 'cellId');
    if (msg.header.msg_type === 'execute_request' && cellId) {
      this._sent.set(msg.header.msg_id, cellId);
      this._runs.set(cellId, { runId: null, count: null });
      this._changed.emit();
    }
  }

  private _noteReply(msg: KernelMessage.IMessage): void {
    const request = textIn(msg.parent_header, 'msg_id');
    const cellId = this._sent.get(request);
    const count = (msg.content as Content).execution_count;
    this._sent.delete(request);
    if (cellId) {
      const runId = textIn((msg.metadata as Content).petri, 'run_id') || null;
      this._runs.set(cellId, { runId, count: typeof count === 'number' ? count : null });
    }
  }

  private _refreshSoon(): void {
    if (this._kind === 'petri') {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => void this._refresh(), SETTLE_MS);
    }
  }

  private async _refresh(): Promise<void> {
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
  private async _ask(type: string, content: Content): Promise<unknown> {
    const kernel = this._kernel;
    if (!kernel || this._kind !== 'petri') {
      throw new Error('This kernel has no timeline.');
    }
    const msg = KernelMessage.createMessage({
      /* JupyterLab's type lists what it sends itself. */
      msgType: type as KernelMessage.ControlMessageType,
      channel: 'control',
      username: kernel.username,
      session: kernel.clientId,
      content
    } as unknown as KernelMessage.IOptions<KernelMessage.IDebugRequestMsg>);
    const reply = await kernel.sendControlMessage(msg, true).done;
    const answer: unknown = reply?.content;
    if (textIn(answer, 'status') !== 'ok') {
      throw new Error(sentence(textIn(answer, 'evalue')) || 'The kernel has given no answer.');
    }
    return answer;
  }

  private _context: ISessionContext;
  private _kernel: Kernel.IKernelConnection | null = null;
  private _kind: Kind = 'none';
  private _timeline: Timeline | null = null;
  private _runs = new Map<string, CellRun>();
  private _sent = new Map<string, string>(); /* requests that wait for their reply: the id of each, its cell's */
  private _generation = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _changed = new Signal<this, void>(this);
}
