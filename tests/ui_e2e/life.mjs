// The life of a VM on a real node, in the browser: sign in by a link, create from an example, see it run, use its console and its screen,
// migrate it with the screen open, provoke a refusal and read its story, delete it.
import assert from 'node:assert/strict';
import { base, newPage, note, noFaults, run, shot, signIn, until } from './browser.mjs';

const { UI_CODE, UI_NAME = 'browser' } = process.env;
const consoleText = page => page.locator('.xterm-rows').innerText();
/** The guest's screen as a picture. A screen that was just connected has no size before its first frame. */
const pixels = page => until('the screen has a picture', () => page.evaluate(() => {
  const canvas = document.querySelector('.pane canvas');
  return canvas?.width > 0 && canvas.height > 0 && canvas.toDataURL();
}));
const status = page => page.locator('.page-head .status').innerText();

/** How many pixels of the guest's screen differ from the picture before, by part. */
const differing = (page, before) => page.evaluate(async url => {
  const canvas = document.querySelector('.pane canvas'), image = new Image();
  image.src = url;
  await image.decode();
  if (image.width !== canvas.width || image.height !== canvas.height) return 1;
  const other = new OffscreenCanvas(image.width, image.height).getContext('2d');
  other.drawImage(image, 0, 0);
  const a = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, b = other.getImageData(0, 0, canvas.width, canvas.height).data;
  let count = 0;
  for (let at = 0; at < a.length; at += 4) if (a[at] !== b[at] || a[at + 1] !== b[at + 1] || a[at + 2] !== b[at + 2]) count += 1;
  return count / (a.length / 4);
}, before);

async function say(page, line) {
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type(`${line}\n`);
}

/** Says something on the console and waits for the answer. */
async function ask(page, line, answer) {
  await say(page, line);
  await until(answer, async () => (await consoleText(page)).match(answer)).catch(async error => { throw new Error(`${error.message}\n${await consoleText(page)}`); });
}

/** Answers each prompt of the console when it stands there: what is typed before a guest asks for it is lost, or taken for something else. */
async function logIn(page) {
  const answers = [[/login:\s*$/, 'demo'], [/assword:\s*$/, 'demo'], [/demo@demo:[^\n]*\$\s*$/, null]];
  for (let before = '', quiet = 0; ;) {
    const prompt = await until('a prompt', async () => {
      const text = (await consoleText(page)).trimEnd();
      return text !== before && answers.find(([pattern]) => pattern.test(text));
    }, 15_000).catch(() => null);
    if (prompt && prompt[1] === null) return;
    assert.ok(prompt || (quiet += 1) < 30, `nobody can log in:\n${await consoleText(page)}`);
    if (prompt) note(`the console says ${prompt[0].source}`);
    before = prompt ? (await consoleText(page)).trimEnd() : '';
    await say(page, prompt?.[1] ?? '');  // without a prompt: it may have been shown before this console was opened
  }
}

/** Types where the guest shows it at once: at a prompt, without an end of the line. */
const typeOn = async (page, text) => {
  await page.locator('.pane[aria-label=Screen] canvas').click();
  await page.keyboard.type(text, { delay: 40 });
};

await run(async browser => {
  const page = await newPage(browser);
  await page.goto(`${base}#/login/${UI_CODE}`);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  assert.ok(!page.url().includes(UI_CODE), 'the code is not left in the address');

  // Create from an example, with another name.
  await page.getByRole('link', { name: 'Create', exact: true }).first().click();
  await page.getByLabel('Name', { exact: true }).fill(UI_NAME);
  await page.locator('.findings .status').waitFor();
  await page.getByRole('button', { name: 'Create VM', disabled: false }).click();
  note('created');
  await until('it runs', async () => await status(page) === 'Running');
  note('it runs');
  await page.locator('.verdict').filter({ hasText: /run/i }).waitFor();
  await page.getByText('Started', { exact: false }).first().waitFor();
  await shot(page, 'vm');

  // A refusal, and its story, while the guest boots.
  await page.getByRole('tab', { name: 'YAML' }).click();
  const editor = page.getByLabel(`YAML of ${UI_NAME}`);
  await editor.waitFor();
  await editor.fill((await editor.inputValue()).replace('name: root', 'name: nothing-like-this'));
  await page.locator('.finding.error').first().waitFor();
  await shot(page, 'findings');
  await page.getByRole('button', { name: 'Review and save' }).click();
  await page.getByRole('dialog').getByText('The server refuses this.').waitFor();
  assert.ok(await page.locator('.diff .added').count() > 0);
  await shot(page, 'refused');
  await page.getByRole('dialog').getByRole('button', { name: 'Go on editing' }).click();
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await page.getByRole('tab', { name: 'Requests' }).click();
  await page.locator('.row', { hasText: /422/ }).first().getByRole('link').click();
  for (const title of ['1. What was asked for', '2. Was it let in', '3. What it touched', '4. What became of it']) await page.getByRole('heading', { name: title }).waitFor();
  await page.getByText(/rule [A-Z]+/).first().waitFor();
  await shot(page, 'story');
  await page.getByRole('link', { name: `Open VM ${UI_NAME}` }).click();

  note('a refusal has its story');

  // The console answers.
  await page.getByRole('tab', { name: 'Screen and console' }).click();
  await page.locator('.pane[aria-label=Console][data-state=open]').waitFor();
  await logIn(page);
  await ask(page, 'echo sum $((40 + 2))', /sum 42/);
  note('the console answers');

  // The screen changes when somebody types on it.
  const screen = page.locator('.pane[aria-label=Screen]');
  await page.locator('.pane[aria-label=Screen][data-state=open]').waitFor();
  await until('the screen shows something', () => page.evaluate(() => {
    const canvas = document.querySelector('.pane canvas');
    if (!canvas?.width) return false;
    return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value, at) => at % 4 !== 3 && value > 60);
  }));
  const before = await pixels(page);
  await typeOn(page, 'someone-types');
  const part = await until('the screen changes', async () => { const found = await differing(page, before); return found > 0.0005 ? found : 0; });
  note(`the screen changed in ${(part * 100).toFixed(2)}% of its pixels`);
  await shot(page, 'screens');

  // A second viewer takes the console over, which the first takes back by a button, not by itself. Both see the screen, and what either types.
  const second = await newPage(browser);
  await signIn(second, `#/vms/default/${UI_NAME}/screens`);
  await second.locator('.pane[aria-label=Console][data-state=open]').waitFor();
  await page.locator('.pane[aria-label=Console][data-state=taken]').getByRole('button', { name: 'Take over' }).click();
  await page.locator('.pane[aria-label=Console][data-state=open]').waitFor();
  await second.locator('.pane[aria-label=Console][data-state=taken]').waitFor();
  await second.locator('.pane[aria-label=Screen][data-state=open]').waitFor();
  // The screen is reached by Tab and left by Ctrl+F6, and Ctrl is not left pressed: letters that are typed afterwards are letters.
  const inScreen = () => second.evaluate(() => document.activeElement.matches('.pane[aria-label=Screen] canvas'));
  await second.locator('.pane[aria-label=Screen] .tools button').last().focus();
  await second.keyboard.press('Tab');
  assert.ok(await inScreen(), 'Tab reaches the screen');
  await second.keyboard.press('Control+F6');
  assert.ok(!await inScreen(), 'the screen can be left by keys');
  const shared = await pixels(page), other = await pixels(second);
  await typeOn(second, '-and-the-other-too');
  await until('the second screen changes', async () => await differing(second, other) > 0.0005);
  await until('the first screen changes', async () => await differing(page, shared) > 0.0005);
  assert.equal(await screen.getAttribute('data-state'), 'open');
  note('two viewers share the screen and take the console from each other when asked to');

  // Whoever wants it alone, as virtctl does, ends both; they say so, do not come back by themselves, and ask before they end that one.
  await second.evaluate(name => new Promise((done, failed) => {
    window.alone = new WebSocket(`wss://${location.host}/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/${name}/vnc`, ['plain.kubevirt.io']);
    window.alone.onopen = done;
    window.alone.onerror = failed;
  }), UI_NAME);
  for (const one of [page, second]) await one.locator('.pane[aria-label=Screen][data-state=taken]').getByText('for themselves alone').waitFor();
  await second.locator('.pane[aria-label=Screen]').getByRole('button', { name: 'Connect again' }).first().click();  // in the bar: it asks nobody to go
  await second.locator('.pane[aria-label=Screen][data-state=taken]').getByText('for themselves alone').waitFor();
  assert.equal(await second.evaluate(() => window.alone.readyState), 1, 'the other one was not interrupted');
  await page.locator('.pane[aria-label=Screen]').getByRole('button', { name: 'Take over' }).click();
  await screen.and(page.locator('[data-state=open]')).waitFor();
  await until('who was alone is ended', () => second.evaluate(() => window.alone.readyState === WebSocket.CLOSED));
  await second.locator('.pane[aria-label=Screen]').getByRole('button', { name: 'Take over' }).click();
  await second.locator('.pane[aria-label=Screen][data-state=open]').waitFor();
  assert.equal(await screen.getAttribute('data-state'), 'open', 'taking over from nobody who is alone ends nobody');
  await second.context().close();
  note('who wants the screen alone gets it, and is asked to go by a button');

  // Migrate with the screen open.
  const node = await page.evaluate(() => fetch(`/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances/${location.hash.split('/')[3]}`, { headers: { 'X-Virtgate-UI': '1' } }).then(answer => answer.json()).then(vmi => vmi.status.nodeName));
  await page.getByRole('toolbar').getByRole('button', { name: 'Migrate' }).click();
  await page.getByRole('dialog').getByText('Create VirtualMachineInstanceMigration').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Migrate' }).click();
  await until('it is on another node', () => page.evaluate(async was => {
    const answer = await fetch(`/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances/${location.hash.split('/')[3]}`, { headers: { 'X-Virtgate-UI': '1' } });
    const vmi = await answer.json();
    return vmi.status.nodeName !== was && vmi.status.migrationState?.completed;
  }, node));
  await page.locator('.pane[aria-label=Screen][data-state=open]').waitFor();
  await page.locator('.pane[aria-label=Console][data-state=open]').waitFor();
  const moved = await pixels(page);
  // The page may still be on its way from the old connection: what is typed into that one is lost.
  await until('the screen changes after the migration', async () => { await typeOn(page, 'again-'); return await differing(page, moved) > 0.0005; });
  await ask(page, 'echo sum $((50 + 3))', /sum 53/);
  note(`migrated from ${node}; screen and console go on`);
  await shot(page, 'migrated');

  // The list shows its screen.
  await page.getByRole('link', { name: 'VMs', exact: true }).click();
  await page.getByLabel('Screens').check();
  await page.locator('.row .thumb[src^="blob:"]').waitFor();
  assert.ok(await until('the picture is loaded', () => page.locator('.row .thumb').first().evaluate(image => image.naturalWidth > 100)));
  await shot(page, 'thumbnails');
  await page.getByRole('link', { name: UI_NAME }).click();
  await page.getByRole('heading', { name: UI_NAME, level: 1 }).waitFor();

  note('its picture is in the list');

  // Delete.
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByText('Delete the VM and stop its guest').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`There is no VM ${UI_NAME}`).waitFor();
  await page.getByRole('link', { name: 'go to the VMs' }).click();
  await page.getByText('There are no VMs yet.').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  await noFaults(page);
});
