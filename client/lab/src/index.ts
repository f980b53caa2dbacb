/** petri's time travel in JupyterLab: commands, the buttons of a notebook's toolbar, the side panel, marks at cells. */
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import {
  CommandToolbarButton,
  Dialog,
  ICommandPalette,
  InputDialog,
  Notification,
  showDialog,
  Toolbar
} from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { type LabIcon, redoIcon, undoIcon } from '@jupyterlab/ui-components';

import { CellMarks } from './cells.js';
import { nameIcon, timelineIcon } from './icons.js';
import { TimelinePanel } from './panel.js';
import { numberText, placeText, wayText } from './sentences.js';
import { canRedo, canUndo, type State, type Timeline, wayTo } from './timeline.js';
import { type Destination, TimeTravel } from './travel.js';

const ID = 'petri-timeline';
const SHOWN_MS = 4000;

const COMMANDS = {
  undo: `${ID}:undo`,
  redo: `${ID}:redo`,
  name: `${ID}:name`,
  forget: `${ID}:forget`,
  show: `${ID}:show`
};

/** Of a command: the id of the notebook that its button belongs to; the current one where there is none. */
type Args = { readonly notebook?: unknown };

/** The notebooks of this page, each with its kernel's timeline. */
class Notebooks {
  constructor(tracker: INotebookTracker) {
    this._tracker = tracker;
  }

  /** Follows a notebook until it is closed. changed is called with each change of its timeline. */
  add(panel: NotebookPanel, changed: () => void): void {
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
  of(args: Args): TimeTravel | null {
    const id = typeof args.notebook === 'string' ? args.notebook : this._tracker.currentWidget?.id;
    return (id !== undefined && this._travels.get(id)) || null;
  }

  get current(): TimeTravel | null {
    return this.of({});
  }

  private _tracker: INotebookTracker;
  private _travels = new Map<string, TimeTravel>();
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Shows why something wasn't done. */
async function tell(done: Promise<unknown>): Promise<void> {
  await done.catch(error => Notification.error(reasonOf(error), { autoClose: SHOWN_MS }));
}

/** Goes somewhere, and says what that has changed. */
async function go(travel: TimeTravel, where: Destination): Promise<void> {
  Notification.info(await travel.go(where), { autoClose: SHOWN_MS });
}

/** Goes to a state if the reader agrees. */
async function restore(travel: TimeTravel, state: State): Promise<void> {
  const { timeline } = travel;
  if (!timeline || state === timeline.current || !state.kept) {
    return;
  }
  const { button } = await showDialog({
    title: `Go to ${placeText(state)}?`,
    body: wayText(wayTo(timeline, state)),
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Go' })]
  });
  if (button.accept) {
    await go(travel, { to: state.id });
  }
}

async function name(travel: TimeTravel): Promise<void> {
  const { value } = await InputDialog.getText({
    title: 'Name the present state',
    label: 'A name without spaces, by which you can go back:',
    okLabel: 'Name'
  });
  if (value) {
    await travel.name(value.trim());
  }
}

const namesIn = (timeline: Timeline): string[] => timeline.states.flatMap(state => state.names);

/** Takes one of these names away; the reader chooses where there are several. */
async function forget(travel: TimeTravel, names: string[]): Promise<void> {
  if (names.length === 0) {
    return;
  }
  const { value } =
    names.length === 1 ? { value: names[0] } : await InputDialog.getItem({ title: 'Forget a name', items: names });
  if (value) {
    await travel.forget(value);
  }
}

/** A command on a timeline: what it does, and what JupyterLab asks about it. */
interface Command {
  id: string;
  label: string;
  icon?: LabIcon;
  caption(timeline: Timeline): string;
  isEnabled(timeline: Timeline): boolean;
  run(travel: TimeTravel): Promise<unknown>;
}

const TABLE: Command[] = [
  {
    id: COMMANDS.undo,
    label: 'Undo the Last Cell That Ran',
    icon: undoIcon,
    caption: ({ current }) =>
      `Take the session back to before ${current?.count ? numberText(current) : 'its last cell'}`,
    isEnabled: canUndo,
    run: travel => go(travel, { undo: 1 })
  },
  {
    id: COMMANDS.redo,
    label: 'Redo the Cell That Was Undone',
    icon: redoIcon,
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
    run: name
  },
  {
    id: COMMANDS.forget,
    label: 'Forget the Name of a State…',
    caption: () => 'Take a name away',
    isEnabled: timeline => namesIn(timeline).length > 0,
    run: travel => forget(travel, travel.timeline ? namesIn(travel.timeline) : [])
  }
];

function addCommands({ commands, shell }: JupyterFrontEnd, notebooks: Notebooks): void {
  for (const { id, label, icon, caption, isEnabled, run } of TABLE) {
    const timelineOf = (args: Args) => notebooks.of(args)?.timeline ?? null;
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
] as const;

function makePanel({ commands }: JupyterFrontEnd, notebooks: Notebooks): TimelinePanel {
  const toolbar = new Toolbar();
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
  LABELS.forEach(([id, label]) => toolbar.addItem(id, new CommandToolbarButton({ commands, id, label })));
  return panel;
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: `${ID}:plugin`,
  description: "petri's time travel: a timeline, undo and redo, marks at cells that are undone.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
  ) => {
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
    const adopt = (notebook: NotebookPanel) => {
      notebooks.add(notebook, () => TABLE.forEach(({ id }) => commands.notifyCommandChanged(id)));
      const args = { notebook: notebook.id };
      const button = (id: string) => new CommandToolbarButton({ commands, id, args, label: '' });
      notebook.toolbar.insertItem(10, COMMANDS.undo, button(COMMANDS.undo));
      notebook.toolbar.insertItem(11, COMMANDS.redo, button(COMMANDS.redo));
      follow();
    };
    tracker.forEach(adopt);
    tracker.widgetAdded.connect((_, notebook) => adopt(notebook));
    Object.values(COMMANDS).forEach(command => palette?.addItem({ command, category: 'Time Travel' }));
  }
};

export default plugin;
