/*
 * @jupyterlab/services, what JupyterLab itself speaks to a server with, against a kernel.
 *
 *   node services.cjs URL TOKEN KERNEL
 *
 * Writes what was seen as one line of JSON. PETRI_STUCK_S says after how many
 * seconds something counts as stuck.
 */
'use strict';

const { KernelManager, ServerConnection } = require('@jupyterlab/services');

const STUCK_MS = 1000 * process.env.PETRI_STUCK_S;
const [baseUrl, token, kernelName] = process.argv.slice(2);

/* Resolves with the first value that the signal brings for which test holds. */
function next(signal, test) {
  return new Promise(resolve => {
    const slot = (_, value) => {
      if (!test(value)) return;
      signal.disconnect(slot);
      resolve(value);
    };
    signal.connect(slot);
  });
}

/* Runs code; returns the reply's content and the text of all output. onText sees each piece of output. */
async function execute(kernel, code, onText = () => {}) {
  const future = kernel.requestExecute({ code });
  const texts = [];
  future.onIOPub = message => {
    const { text, data, ename } = message.content;
    const piece = text ?? data?.['text/plain'] ?? ename;
    if (piece === undefined) return;
    texts.push(piece);
    onText(piece);
  };
  const reply = await future.done;
  return { status: reply.content.status, ename: reply.content.ename, text: texts.join('') };
}

/* Starts code that prints 'on' and goes on for ever; resolves once it has, with the promise of its end. */
function startBusy(kernel) {
  return new Promise(resolve => {
    const end = execute(kernel, "import time\nprint('on', flush=True)\nwhile True: time.sleep(0.01)", text => {
      if (text.includes('on')) resolve({ end });
    });
  });
}

/* Asks about code; again where the answer says nothing, as it does if there was no time to find one. */
async function known(ask, saysNothing) {
  const end = Date.now() + STUCK_MS;
  let content;
  do content = (await ask()).content;
  while (saysNothing(content) && Date.now() < end);
  return content;
}

/* The status once it is busy, or stays something else: a request that is answered beside a cell ends with idle, and
 * the cell says after it that it is busy. */
async function statusBeside(kernel) {
  let timer;
  const busy = kernel.status === 'busy' || next(kernel.statusChanged, status => status === 'busy');
  const stuck = new Promise(resolve => {
    timer = setTimeout(resolve, STUCK_MS);
  });
  await Promise.race([busy, stuck]);
  clearTimeout(timer);
  return kernel.status;
}

async function comm(kernel) {
  const code = `
import comm
def opened(channel, message):
    channel.on_msg(lambda message: channel.send({"twice": 2 * message["content"]["data"]["n"]},
                                                buffers=[bytes(message["buffers"][0])[::-1]]))
comm.get_comm_manager().register_target("twice", opened)`;
  await execute(kernel, code);
  const channel = kernel.createComm('twice');
  const answered = new Promise(resolve => {
    channel.onMsg = message => resolve(message);
  });
  await channel.open({}).done;
  const listed = Object.values((await kernel.requestCommInfo({ target_name: 'twice' })).content.comms);
  await channel.send({ n: 21 }, {}, [new Uint8Array([1, 2, 3]).buffer]).done;
  const message = await answered;
  const bytes = Array.from(new Uint8Array(message.buffers[0].buffer ?? message.buffers[0]));
  await channel.close().done;
  const left = Object.keys((await kernel.requestCommInfo({ target_name: 'twice' })).content.comms).length;
  return { data: message.content.data, bytes, listed, left };
}

async function question(kernel) {
  const future = kernel.requestExecute({ code: 'input("name? ")' });
  let prompt;
  future.onStdin = message => {
    prompt = message.content.prompt;
    kernel.sendInputReply({ status: 'ok', value: 'petri' }, message.header);
  };
  let text;
  future.onIOPub = message => {
    text = message.content.data?.['text/plain'] ?? text;
  };
  await future.done;
  return { prompt, text };
}

async function main() {
  const serverSettings = ServerConnection.makeSettings({ baseUrl, wsUrl: baseUrl.replace('http', 'ws'), token });
  const manager = new KernelManager({ serverSettings });
  await manager.ready;
  const kernel = await manager.startNew({ name: kernelName });
  const seen = { info: (await kernel.info).implementation };
  seen.execute = await execute(kernel, 'alpha_bravo = 20; print("text"); alpha_bravo + 1');

  const first = await startBusy(kernel);
  const { matches } = await known(
    () => kernel.requestComplete({ code: 'alpha_', cursor_pos: 6 }),
    content => content.matches.length === 0
  );
  seen.complete = { matches, status: await statusBeside(kernel) };
  const { found } = await known(
    () => kernel.requestInspect({ code: 'alpha_bravo', cursor_pos: 5, detail_level: 0 }),
    content => !content.found
  );
  seen.inspect = { found, status: await statusBeside(kernel) };
  await kernel.interrupt();
  seen.interrupt = await first.end;

  seen.comm = await comm(kernel);
  seen.input = await question(kernel);
  seen.isComplete = await known(
    () => kernel.requestIsComplete({ code: 'if x:' }),
    content => content.status === 'unknown'
  );

  const second = await startBusy(kernel);
  second.end.catch(() => {});
  const restarting = next(kernel.statusChanged, status => status === 'restarting' || status === 'autorestarting');
  await kernel.restart();
  await restarting;
  seen.restart = await execute(kernel, 'alpha_bravo');

  await kernel.shutdown();
  await manager.refreshRunning();
  seen.running = Array.from(manager.running()).length;
  console.log(JSON.stringify(seen));
  process.exit(0);
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
