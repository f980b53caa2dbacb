/*
 * JupyterLab in headless Chromium, as its reader sees it.
 *
 *   node lab.cjs SCENARIO URL TOKEN NOTEBOOK SCREENSHOTS
 *
 * Opens NOTEBOOK (a path below the server's folder), plays SCENARIO, writes
 * what was seen as one line of JSON, and screenshots below SCREENSHOTS. Where
 * something doesn't appear, the exit status is 1 and SCENARIO-failed.png shows
 * the page as it was. CHROMIUM names the browser; PETRI_STUCK_S says after how
 * many seconds.
 */
'use strict';

const path = require('path');
const { chromium } = require('playwright-core');

const STUCK_MS = 1000 * process.env.PETRI_STUCK_S;
const PATIENCE_MS = 3000;
const [scenario, url, token, notebook, screenshots] = process.argv.slice(2);

/* Waits until the page has its notebook, and that its kernel. */
const ready = page =>
  page.waitForFunction(() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.sessionContext?.session?.kernel?.status === 'idle' && panel.content.model?.cells.length;
  });

async function openNotebook(browser, height = 900, width = 1200, deviceScaleFactor = 1) {
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor });
  page.setDefaultTimeout(STUCK_MS);
  await page.goto(`${url}/lab/tree/${notebook}?token=${token}&reset`);
  await ready(page);
  await command(page, 'application:toggle-left-area');
  return page;
}

const command = (page, id) => page.evaluate(name => window.jupyterapp.commands.execute(name), id);

/* What the page's notebook has: for each code cell its number and its outputs. */
const cells = page =>
  page.evaluate(() =>
    window.jupyterapp.shell.currentWidget.content.widgets
      .filter(cell => cell.model.type === 'code')
      .map(cell => ({ count: cell.model.executionCount, outputs: cell.model.outputs.toJSON() }))
  );

const select = (page, index) =>
  page.evaluate(n => {
    window.jupyterapp.shell.currentWidget.content.activeCellIndex = n;
  }, index);

/* Starts a cell as Ctrl+Enter does; returns at once. */
async function start(page, index) {
  await select(page, index);
  await page.evaluate(() => {
    window.jupyterapp.commands.execute('notebook:run-cell');
  });
}

/* Waits until nothing is pending: no cell has [*], and the kernel is idle. */
const settled = page =>
  page.waitForFunction(() => {
    const panel = window.jupyterapp.shell.currentWidget;
    const pending = panel.content.widgets.some(cell => cell.model.executionState === 'running');
    return !pending && panel.sessionContext.session?.kernel?.status === 'idle';
  });

/* Runs all cells and waits until each has been run, or was passed over because an earlier one has failed. */
async function runAll(page) {
  await command(page, 'runmenu:run-all');
  await page.waitForFunction(() => {
    const code = window.jupyterapp.shell.currentWidget.content.widgets.filter(cell => cell.model.type === 'code');
    const last = code.findIndex(cell => cell.model.executionCount === null);
    const failed = code.some(cell => cell.model.outputs.toJSON().some(output => output.output_type === 'error'));
    return last === -1 || failed;
  });
  await settled(page);
}

async function run(page, index) {
  await start(page, index);
  await page.waitForFunction(
    n => window.jupyterapp.shell.currentWidget.content.widgets[n].model.executionCount !== null,
    index
  );
  await settled(page);
}

/* Waits for text in a cell's output: the cell itself may have the same in its source. */
const seen = (page, text) => page.locator('.jp-OutputArea-output').filter({ hasText: text }).first().waitFor();

/* The status once it is busy: a request that is answered beside a cell ends with idle, and the cell says after it that
 * it is busy. */
async function busy(page) {
  const found = await page.waitForFunction(() => {
    const { status } = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    return status === 'busy' && status;
  });
  return found.jsonValue();
}

/* Presses Tab as a reader does, who presses it again where nothing comes: JupyterLab itself waits for a second only. */
async function completer(page) {
  const list = page.locator('.jp-Completer');
  for (const end = Date.now() + STUCK_MS; Date.now() < end; ) {
    await page.keyboard.press('Tab');
    const shown = await list.waitFor({ timeout: PATIENCE_MS }).then(() => true, () => false);
    if (shown) return;
  }
  throw new Error('no completions were shown');
}

/* petri's extension: its panel, its buttons in the notebook's toolbar, the rows of its tree. */
async function timelinePanel(page) {
  await command(page, 'petri-timeline:show');
  await page.locator('.petri-Timeline').waitFor();
}

const button = (page, what) => page.locator(`.jp-NotebookPanel-toolbar [data-command="petri-timeline:${what}"]`);

const timelineRows = page =>
  page.locator('.petri-Timeline-row').evaluateAll(rows =>
    rows.map(row => ({
      number: row.querySelector('.petri-Timeline-number').textContent,
      line: row.querySelector('.petri-Timeline-line').textContent,
      names: [...row.querySelectorAll('.petri-Timeline-label')].map(label => label.textContent),
      level: Number(row.getAttribute('aria-level')),
      now: row.getAttribute('aria-current') === 'true',
    }))
  );

const rowOf = (page, text) => page.locator('.petri-Timeline-row').filter({ hasText: text }).first();

/* Waits until the panel says that the session is after the cell of this number. */
const at = (page, number) =>
  page.locator('.petri-mod-current .petri-Timeline-number', { hasText: number }).first().waitFor();

/* Waits until these cells of the notebook are marked as undone, and no others. */
const marked = (page, expected) =>
  page.waitForFunction(wanted => {
    const all = window.jupyterapp.shell.currentWidget.content.widgets;
    const found = all.flatMap((cell, n) => (cell.node.classList.contains('petri-mod-undone') ? [n] : []));
    return JSON.stringify(found) === wanted;
  }, JSON.stringify(expected));

/* The server keeps it, also for other pages. */
async function theme(page, wanted) {
  const light = String(wanted.endsWith('Light'));
  await page.evaluate(it => window.jupyterapp.commands.execute('apputils:change-theme', { theme: it }), wanted);
  await page.waitForFunction(it => document.body.dataset.jpThemeLight === it, light);
  await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
}

async function name(page, text) {
  await page.locator('.petri-Timeline [data-command="petri-timeline:name"]').click();
  await page.locator('.jp-Dialog input').fill(text);
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  await page.locator('.petri-Timeline-label', { hasText: text }).waitFor();
}

async function byPalette(page, text) {
  await command(page, 'apputils:activate-command-palette');
  await page.locator('.lm-CommandPalette-input').fill(text);
  await page.locator('.lm-CommandPalette-item', { hasText: text }).first().click();
}

/* Clicks a row, and agrees; returns what was asked. */
async function restoreRow(page, text) {
  await rowOf(page, text).click();
  const asked = await page.locator('.jp-Dialog .jp-Dialog-body').innerText();
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  return asked;
}

const shot = (page, name) => page.screenshot({ path: path.join(screenshots, `${name}.png`) });

const scenarios = {
  async tour(browser) {
    const page = await openNotebook(browser, 3900);
    await runAll(page);
    await page.waitForFunction(() => {
      const code = window.jupyterapp.shell.currentWidget.content.widgets.filter(cell => cell.model.type === 'code');
      return code.every(cell => cell.model.executionCount !== null);
    });
    await settled(page);
    await shot(page, 'tour');
    return { cells: await cells(page) };
  },

  async complete(browser) {
    const page = await openNotebook(browser);
    await run(page, 0);
    await start(page, 1);
    await seen(page, 'the cell runs');
    await busy(page);
    await select(page, 2);
    await page.locator('.jp-Notebook .jp-Cell').nth(2).locator('.cm-content').click();
    await page.keyboard.type('alpha_');
    await completer(page);
    const items = await page.locator('.jp-Completer-match').allTextContents();
    const status = await busy(page);
    await shot(page, 'complete-while-busy');
    await page.keyboard.press('Escape');
    return { items, status };
  },

  async interrupt(browser) {
    const page = await openNotebook(browser);
    await start(page, 0);
    await seen(page, 'the cell runs');
    await busy(page);
    await command(page, 'kernelmenu:interrupt');
    await settled(page);
    await run(page, 1);
    await shot(page, 'interrupt');
    return { cells: await cells(page) };
  },

  async restart(browser) {
    const page = await openNotebook(browser);
    await run(page, 0);
    const before = await cells(page);
    const asked = command(page, 'kernelmenu:restart');
    await page.locator('.jp-Dialog .jp-mod-accept').click();
    await asked;
    await settled(page);
    await run(page, 1);
    await shot(page, 'restart');
    return { before, cells: await cells(page) };
  },

  async timeout(browser) {
    const page = await openNotebook(browser);
    await runAll(page);
    for (let n = 0; n < (await cells(page)).length; n++) await run(page, n);
    /* On a busy machine the stack is not always there in time. */
    const search = async () => JSON.stringify((await cells(page))[1].outputs).includes('in search');
    for (let tries = 1; tries < 3 && !(await search()); tries++) await run(page, 1);
    await shot(page, 'timeout');
    return { cells: await cells(page) };
  },

  /* The README's picture: the notebook alone, sharp, and down to its last output. The reader is in an empty cell below. */
  async customers(browser) {
    const page = await openNotebook(browser, 1000, 850, 2);
    await command(page, 'application:toggle-mode');
    for (const side of ['left', 'right']) {
      await page.evaluate(it => window.jupyterapp.commands.execute('application:toggle-side-tabbar', { side: it }), side);
    }
    const last = (await cells(page)).length - 1;
    for (let n = 0; n < last; n++) await run(page, n);
    await select(page, last);
    await command(page, 'notebook:enter-command-mode');
    const below = await page.locator('.jp-Notebook .jp-Cell').nth(last).boundingBox();
    const clip = { x: 0, y: 0, width: page.viewportSize().width, height: below.y - 8 };
    await page.screenshot({ path: path.join(screenshots, 'customers.png'), clip });
    return { cells: (await cells(page)).slice(0, last) };
  },

  /* The panel of jupyter-resource-usage while a cell holds memory and uses a processor. */
  async usage(browser) {
    const page = await openNotebook(browser);
    await page.evaluate(() => window.jupyterapp.shell.activateById('kernelusage-panel-id'));
    const panel = page.locator('.jp-KernelUsage-view').first();
    const figure = async label => {
      const text = await panel.innerText().catch(() => '');
      const [, number, unit] = text.match(new RegExp(`${label}:\\s*([\\d.]+)\\s*(\\w*)`)) || [];
      return Number(number) * ({ KB: 1 / 1024, GB: 1024 }[unit] || 1);
    };
    const until = async (what, holds) => {
      for (const end = Date.now() + STUCK_MS; Date.now() < end; await page.waitForTimeout(200)) if (await holds()) return;
      throw new Error(`the panel never shows ${what}`);
    };
    await until('memory', async () => (await figure('Memory')) > 0);
    const idle = { memory: await figure('Memory') };
    await start(page, 0);
    await seen(page, 'the cell runs');
    await until('the cell', async () => (await figure('Memory')) > idle.memory + 250 && (await figure('CPU')) > 10);
    await shot(page, 'usage');
    const seenBusy = { memory: await figure('Memory'), cpu: await figure('CPU') };
    await command(page, 'kernelmenu:interrupt');
    await settled(page);
    return { idle, busy: seenBusy };
  },

  async limits(browser) {
    const page = await openNotebook(browser);
    await runAll(page);
    await page.locator('.jp-OutputArea-output progress').first().waitFor();
    const bars = await page.locator('.jp-OutputArea-output progress').count();
    await shot(page, 'limits');
    return { cells: await cells(page), bars };
  },

  async broken(browser) {
    const page = await openNotebook(browser, 500);
    await run(page, 0);
    await shot(page, 'broken');
    const status = () => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status;
    return { cells: await cells(page), status: await page.evaluate(status) };
  },

  async launcher(browser) {
    const page = await openNotebook(browser);
    await command(page, 'launcher:create');
    const tiles = page.locator('.jp-LauncherCard[data-category="Notebook"]');
    await tiles.filter({ hasText: 'petri, strict' }).waitFor();
    await shot(page, 'launcher');
    return {
      titles: await tiles.locator('.jp-LauncherCard-label').allInnerTexts(),
      logos: await tiles.locator('img').evaluateAll(images => images.map(image => image.src)),
    };
  },

  // The page is in a frame without cookies, as JupyterLab shows all that the help menu links.
  async help(browser) {
    const page = await openNotebook(browser);
    await runAll(page);
    await page.locator('.jp-MenuBar-label, .lm-MenuBar-itemLabel', { hasText: /^Help$/ }).first().click();
    await page.locator('.lm-Menu-itemLabel', { hasText: /^petri Reference$/ }).click();
    const shown = page.frameLocator('.jp-Help iframe');
    await shown.locator('h1').first().waitFor();
    await shot(page, 'help');
    return { headings: await shown.locator('h1').allInnerTexts() };
  },

  async slider(browser) {
    const page = await openNotebook(browser);
    await run(page, 0);
    const handle = page.locator('.noUi-handle');
    await handle.waitFor();
    await handle.focus();
    for (let step = 1; step <= 3; step++) {
      await page.keyboard.press('ArrowRight');
      await seen(page, `the observer has seen ${3 + step}`);
    }
    await run(page, 1);
    await shot(page, 'slider');
    return { cells: await cells(page), readout: await page.locator('.widget-readout').first().textContent() };
  },

  /* petri's extension: going back and on by its buttons and by its panel, names, marks, after a reload, in two pages. */
  async timeline(browser) {
    const page = await openNotebook(browser, 700, 1100);
    const seen = {};
    for (let n = 0; n < 4; n++) await run(page, n);
    await timelinePanel(page);
    await at(page, '[4]');
    seen.ran = await timelineRows(page);
    seen.undoIs = await button(page, 'undo').getAttribute('title');
    await button(page, 'undo').click();
    await at(page, '[3]');
    await button(page, 'undo').click();
    await at(page, '[2]');
    await marked(page, [2, 3]);
    seen.undone = await timelineRows(page);
    await button(page, 'redo').click();
    await at(page, '[3]');
    await marked(page, [3]);
    await byPalette(page, 'Undo the Last Cell');
    await at(page, '[2]');
    await byPalette(page, 'Redo the Cell');
    await at(page, '[3]');
    await name(page, 'three');
    seen.dialog = await restoreRow(page, 'first');
    await at(page, 'first');
    await marked(page, [0, 1, 2, 3]);
    seen.undoAtFirst = await button(page, 'undo').getAttribute('aria-disabled');
    /* It runs again, with the number that it had, and is a branch. */
    await run(page, 0);
    await at(page, '[1]');
    await marked(page, [1, 2, 3]);
    seen.branch = await timelineRows(page);
    await shot(page, 'timeline');
    await command(page, 'docmanager:save');

    await page.reload();
    await ready(page);
    await at(page, '[1]');
    await marked(page, [1, 2, 3]);
    seen.reloaded = await timelineRows(page);

    const other = await openNotebook(browser, 700, 1100);
    await timelinePanel(other);
    await at(other, '[1]');
    await name(other, 'both');
    await page.locator('.petri-Timeline-label', { hasText: 'both' }).waitFor();
    await rowOf(page, 'x = 3').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    seen.focused = await page.evaluate(() => document.activeElement.querySelector('.petri-Timeline-number').textContent);
    await rowOf(page, 'x = 3').focus();
    await page.keyboard.press('Enter');
    await page.locator('.jp-Dialog .jp-mod-accept').click();
    await at(other, '[3]');
    await marked(other, [0, 3]);
    await page.locator('.petri-Timeline-row', { hasText: 'both' }).locator('button').click();
    await other.locator('.petri-Timeline-label', { hasText: 'both' }).waitFor({ state: 'detached' });
    await other.close();
    await at(page, '[3]');
    await run(page, 3);
    await at(page, '[4]');
    await marked(page, [0]);
    seen.cells = await cells(page);
    return seen;
  },

  /* The pictures of docs/time-travel.md: a notebook with a branch and a name, in both themes. */
  async branches(browser) {
    const page = await openNotebook(browser, 560, 1000);
    await page.evaluate(() => window.jupyterapp.commands.execute('application:toggle-side-tabbar', { side: 'left' }));
    for (let n = 0; n < 4; n++) await run(page, n);
    await timelinePanel(page);
    await at(page, '[4]');
    await button(page, 'undo').click();
    await at(page, '[3]');
    await name(page, 'sorted');
    await button(page, 'undo').click();
    await at(page, '[2]');
    for (let n = 4; n < 6; n++) await run(page, n);
    await at(page, '[4]');
    await marked(page, [2, 3]);
    await command(page, 'docmanager:save');
    await page.mouse.move(300, 450);
    await page.locator('.Toastify__toast').first().waitFor({ state: 'detached' });
    await shot(page, 'timeline-light');
    await theme(page, 'JupyterLab Dark');
    await shot(page, 'timeline-dark');
    await theme(page, 'JupyterLab Light');
    return { rows: await timelineRows(page), cells: await cells(page) };
  },

  /* A kernel that is not petri. */
  async plain(browser) {
    const page = await openNotebook(browser);
    await run(page, 0);
    await timelinePanel(page);
    const sentence = page.locator('.petri-Timeline-sentence');
    await sentence.filter({ hasText: 'no timeline' }).waitFor();
    await shot(page, 'plain');
    return {
      sentence: await sentence.innerText(),
      buttons: await page
        .locator('.jp-NotebookPanel-toolbar [data-command^="petri-timeline"]')
        .evaluateAll(nodes => nodes.filter(node => node.offsetParent !== null).length),
      tree: await page.locator('.petri-Timeline-tree').isVisible(),
    };
  },

  async libraries(browser) {
    const page = await openNotebook(browser, 1900);
    await runAll(page);
    await page.locator('.js-plotly-plot').first().waitFor();
    await shot(page, 'libraries');
    return { cells: await cells(page) };
  },
};

async function main() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    /* Chromium's own sandbox is not for root. */
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    console.log(JSON.stringify(await scenarios[scenario](browser)));
  } catch (error) {
    const page = browser.contexts().flatMap(context => context.pages())[0];
    if (page) await shot(page, `${scenario}-failed`);
    throw error;
  } finally {
    await browser.close();
  }
}

main().catch(error => {
  console.error(error);
  process.exitCode = 1;
});
