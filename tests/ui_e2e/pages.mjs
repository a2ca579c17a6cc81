// Every page on simulated nodes: accessibility in light and dark, the keyboard alone, phone width, what happens to scripts stored in fields,
// the editor with findings, difference and conflict, actions for many, and a watch that is cut.
import assert from 'node:assert/strict';
import { accessibility, base, go, newPage, note, noFaults, relay, run, shot, signIn, until } from './browser.mjs';

const HEADERS = { 'X-Virtgate-UI': '1', 'Content-Type': 'application/json' };
const VMS = '/apis/kubevirt.io/v1/namespaces/default/virtualmachines';
const SCRIPT = '"><script>window.ran=1</script><img src=x onerror="window.ran=1">';

/** A request as the page makes it: with the cookie of the session. */
const ask = (page, method, path, body, type) => page.evaluate(async ([method_, path_, body_, headers]) => {
  const answer = await fetch(path_, { method: method_, headers, body: body_ === null ? undefined : JSON.stringify(body_) });
  return { code: answer.status, object: await answer.json().catch(() => null) };
}, [method, path, body ?? null, { ...HEADERS, ...(type ? { 'Content-Type': type } : {}) }]);

const vm = (name, more = {}) => ({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata: { name, ...more.metadata }, spec: { runStrategy: 'Always', template: { metadata: { annotations: { 'simulated.virtgate.io/boot': '100ms', 'simulated.virtgate.io/shutdown': '100ms', ...more.annotations } }, spec: {
  domain: { memory: { guest: '64Mi' }, devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }], interfaces: [{ name: 'default', masquerade: {} }] } }, networks: [{ name: 'default', pod: {} }], volumes: [{ name: 'root', containerDisk: { image: more.image ?? 'example/disk:1' } }, ...(more.volumes ?? [])] } }, ...more.spec } });

const PAGES = [['vms', '#/vms', '.table .row'], ['vm', '#/vms/default/demo', '.timeline li'], ['screens', '#/vms/default/demo/screens', '.pane[aria-label=Console][data-state=open]'], ['yaml', '#/vms/default/demo/yaml', '.findings .status'],
  ['vm-requests', '#/vms/default/demo/requests', '.table .row'], ['create', '#/create', '.findings .status'], ['requests', '#/requests', '.table .row'], ['nodes', '#/nodes', '.cards .card'], ['storage', '#/storage', 'table.plain'], ['about', '#/about', 'details']];

// In other colours the document is the same: only they are to be looked at again.
const RULES = { dark: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };

async function pagesIn(browser, colorScheme, viewport, name) {
  const page = await newPage(browser, { colorScheme, viewport });
  await page.goto(base);
  await page.getByLabel('Token').waitFor();
  const found = await accessibility(page, `login ${name}`, RULES[name]);
  await signIn(page);
  for (const [title, hash, shown] of PAGES) {
    await go(page, hash);
    await page.locator(shown).first().waitFor();
    await page.waitForFunction(() => !document.querySelector('.actionbar') || document.querySelector('.actionbar .act').title !== undefined);
    await shot(page, `${title}-${name}`);
    found.push(...await accessibility(page, `${title} ${name}`, RULES[name]));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth + Math.max(0, document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth));
    assert.ok(wide <= 1, `${title} ${name} is ${wide} pixels wider than the window`);
  }
  // A dialog, too.
  await go(page, '#/vms/default/demo');
  await page.locator('[data-action=stop][aria-disabled=false]').click();
  await page.getByRole('dialog').getByText('spec.runStrategy to Halted').waitFor();
  await shot(page, `dialog-${name}`);
  found.push(...await accessibility(page, `dialog ${name}`, RULES[name]));
  await page.keyboard.press('Escape');
  await noFaults(page);
  await page.context().close();
  return found;
}

async function refusedTokens(browser) {
  const page = await newPage(browser);
  await page.goto(base);
  await page.getByLabel('Token').fill('not-a-token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').filter({ hasText: 'does not know this token' }).waitFor();
  await page.goto(`${base}#/login/used-up-code`);
  await page.getByRole('alert').filter({ hasText: 'not valid any more' }).waitFor();
  assert.ok(!page.url().includes('used-up-code'));
  await page.context().close();
}

async function links(browser) {
  const page = await newPage(browser);
  await signIn(page);
  await page.goto(`${base}#/login/of-somebody-else`);
  await page.getByRole('dialog').getByText('You are signed in as').waitFor();
  assert.ok(!page.url().includes('of-somebody-else'));
  await page.getByRole('button', { name: /^Stay/ }).click();
  await page.locator('.row:not(.head)').first().waitFor();
  await go(page, '#/vms/default/..');
  await page.getByText('There is no such page.').waitFor();
  await noFaults(page);
  await page.context().close();
}

async function keyboardAlone(browser) {
  const page = await newPage(browser);
  await signIn(page);
  const table = page.getByRole('grid');
  await page.locator('.row:not(.head)').first().waitFor();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
  for (let presses = 0; presses < 40 && !(await table.evaluate(element => element === document.activeElement)); presses += 1) await page.keyboard.press('Tab');
  assert.ok(await table.evaluate(element => element === document.activeElement), 'Tab reaches the table');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.getByText('1 selected').waitFor();
  const active = await table.getAttribute('aria-activedescendant'), name = await page.locator(`#${active} .c-name`).innerText();
  assert.equal(await page.locator(`#${active}`).getAttribute('aria-selected'), 'true');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  await page.getByRole('tab', { name: 'Overview' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tab', { name: 'Screen and console', selected: true }).waitFor();
  // A guest gets every key, Tab too; it is reached by Tab and left by Ctrl+F6.
  await page.locator('.pane[aria-label=Console][data-state=open]').waitFor();
  const inConsole = () => page.evaluate(() => document.activeElement.matches('.xterm-helper-textarea'));
  for (let presses = 0; presses < 30 && !(await inConsole()); presses += 1) await page.keyboard.press('Tab');
  await page.keyboard.type('typed');
  await page.locator('.xterm-rows').getByText('typed').waitFor();
  await page.keyboard.press('Tab');
  assert.ok(await inConsole(), 'Tab goes to the guest');
  await page.keyboard.press('Control+F6');
  assert.ok(await page.evaluate(() => Boolean(document.activeElement.closest('.pane[aria-label=Console] .tools'))), 'the console can be left by keys');
  await page.getByRole('tab', { name: 'Screen and console' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByLabel(/^YAML of/).focus();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  assert.ok(!(await page.getByLabel(/^YAML of/).evaluate(element => element === document.activeElement)), 'the editor can be left by keys');
  await noFaults(page);
  await page.context().close();
}

async function storedScripts(browser) {
  const page = await newPage(browser);
  await signIn(page);
  const cloud = { name: 'cloud', cloudInitNoCloud: { userData: SCRIPT } };
  const made = await ask(page, 'POST', VMS, vm('scripted', { metadata: { annotations: { note: SCRIPT, description: SCRIPT }, labels: { app: 'x' } }, image: 'example/x"><script>window.ran=1</script>:1', volumes: [cloud], annotations: { note: SCRIPT }, spec: {} }));
  if (made.code !== 201) note(`with a script in the image: ${made.code} ${made.object?.message}`);
  if (made.code !== 201) assert.equal((await ask(page, 'POST', VMS, vm('scripted', { metadata: { annotations: { note: SCRIPT, description: SCRIPT } }, volumes: [cloud], annotations: { note: SCRIPT } }))).code, 201);
  // What a node or a controller reports is as little to be trusted: conditions, events, addresses, names of the guest's system.
  await until('there is a VMI', async () => (await ask(page, 'GET', '/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances/scripted')).code === 200);
  await until('its VM has a condition with a script', async () => (await ask(page, 'PATCH', `${VMS}/scripted/status`, { status: { conditions: [{ type: 'Failure', status: 'True', reason: SCRIPT, message: SCRIPT }], printableStatus: SCRIPT } }, 'application/merge-patch+json')).code < 300);
  const event = await ask(page, 'POST', '/api/v1/namespaces/default/events', { apiVersion: 'v1', kind: 'Event', metadata: { name: 'scripted.1' }, involvedObject: { kind: 'VirtualMachine', name: 'scripted', namespace: 'default' }, reason: SCRIPT, message: SCRIPT, type: 'Warning', lastTimestamp: new Date().toISOString(), source: { component: SCRIPT } });
  assert.equal(event.code, 201, JSON.stringify(event));
  const refused = await ask(page, 'POST', VMS, vm(`x${SCRIPT}`));
  assert.equal(refused.code, 422);
  // Each with something that shows that the page has drawn what it was given.
  const drawn = text => page.locator('main').getByText(text).first();
  for (const [hash, shown] of [['#/vms', drawn('scripted')], ['#/vms/default/scripted', page.locator('.timeline').getByText('window.ran=1').first()], ['#/vms/default/scripted/yaml', page.locator('.editor .paint').getByText('window.ran=1').first()],
    ['#/vms/default/scripted/requests', page.locator('.row', { hasText: 'scripted' }).first()], ['#/requests', page.locator('.row', { hasText: 'scripted' }).first()], ['#/storage', page.locator('table.plain').first()], [`#/vms?search=${encodeURIComponent(SCRIPT)}`, drawn('No VM matches.')],
    [`#/vms/default/${encodeURIComponent(SCRIPT)}`, page.locator('main .notice')], [`#/requests/default/${encodeURIComponent(SCRIPT)}`, page.locator('main .notice')], [`#/${encodeURIComponent(SCRIPT)}`, drawn('There is no such page.')]]) {
    await go(page, hash);
    await shown.waitFor();
    assert.equal(await page.evaluate(() => window.ran), undefined, hash);
    assert.equal(await page.evaluate(() => [...document.querySelectorAll('script')].length), 1, hash);
    assert.equal(await page.evaluate(() => document.querySelectorAll('img[onerror], img[src=x]').length), 0, hash);
  }
  await go(page, '#/vms/default/scripted/yaml');
  await page.locator('.editor .paint').getByText('window.ran=1').first().waitFor();  // shown as the text that it is
  await shot(page, 'scripts');
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await noFaults(page);
  await ask(page, 'DELETE', `${VMS}/scripted`);
  await page.context().close();
}

async function editing(browser) {
  const page = await newPage(browser);
  await signIn(page);
  await go(page, '#/vms/default/demo/yaml');
  const editor = page.getByLabel('YAML of demo');
  await editor.waitFor();
  const text = await editor.inputValue();

  // A finding stands at its line, with its rule, and help beside it.
  const wrong = text.replace(/name: root/, 'name: nothing');
  await editor.fill(wrong);
  await page.locator('.finding.error').first().waitFor();
  const finding = await page.locator('.finding.error').first().innerText();
  assert.match(finding, /line \d+/);
  assert.match(finding, /[A-Z]+-\d+/);
  const line = Number(/line (\d+)/.exec(finding)[1]);
  assert.ok((await page.locator('.gutter span').nth(line - 1).getAttribute('class')).includes('error'));
  await page.locator('.finding.error').first().click();
  await page.locator('.fieldhelp').getByText('spec.', { exact: false }).first().waitFor();
  await shot(page, 'findings');

  // Saving shows the difference; somebody else was faster: a conflict, which can be resolved.
  const mine = text.replace(/^( {2}name: demo)$/m, '$1\n  labels:\n    edited: here');
  await editor.fill(mine);
  await ask(page, 'PATCH', `${VMS}/demo`, { metadata: { annotations: { other: 'somebody' } } }, 'application/merge-patch+json');
  await page.getByRole('button', { name: 'Review and save' }).click();
  await page.getByRole('dialog').getByText('Somebody else changed this VM meanwhile.').waitFor();
  assert.deepEqual(await page.locator('.diff .added code').allInnerTexts(), ['  labels:', '    edited: here']);
  await shot(page, 'conflict');
  await page.getByRole('button', { name: /Take over the newer version/ }).click();
  await page.getByRole('button', { name: 'Review and save' }).click();
  await page.getByRole('dialog').getByText('The server would accept this.').waitFor();
  assert.ok((await page.locator('.diff .removed code').allInnerTexts()).some(one => one.includes('other: somebody')), 'what saving undoes is shown');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await until('it is saved', async () => (await ask(page, 'GET', `${VMS}/demo`)).object.metadata.labels?.edited === 'here');
  await noFaults(page);
  await page.context().close();
}

async function creating(browser) {
  const page = await newPage(browser);
  await signIn(page);
  await go(page, '#/create');
  const editor = page.getByLabel('YAML', { exact: true }), group = page.getByRole('radiogroup');
  await editor.waitFor();
  for (const title of await group.locator('label').allInnerTexts()) {
    const before = await editor.inputValue();
    await group.getByLabel(title, { exact: true }).check();
    await until(`the example ${title}`, async () => title === 'Demo guest' || await editor.inputValue() !== before);
    await page.locator('.findings .status').waitFor();
    await page.getByRole('button', { name: /^Create / }).waitFor();
  }
  // The form and the text are one: a size by name takes the other sizes out of the text, and back.
  await group.getByLabel('Demo guest', { exact: true }).check();
  await until('the first example again', async () => (await editor.inputValue()).includes('guest: 128Mi'));
  await page.getByLabel('Name', { exact: true }).fill('made-here');
  await page.getByLabel('CPU cores').fill('2');
  assert.match(await editor.inputValue(), /name: made-here\n[^]*cpu:\n +cores: 2/);
  await page.getByLabel('Instance type', { exact: true }).last().selectOption('u1.nano');
  const sized = await editor.inputValue();
  assert.match(sized, /instancetype:\n +kind: VirtualMachineClusterInstancetype\n +name: u1.nano/);
  assert.ok(!/cores: 2|guest: 128Mi/.test(sized), sized);
  await editor.fill(sized.replace('name: made-here', 'name: typed-here'));
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed-here');
  await page.getByRole('button', { name: 'Create VM', disabled: false }).click();
  await page.getByRole('heading', { name: 'typed-here', level: 1 }).waitFor();
  // A name that is taken is refused in words.
  await go(page, '#/create');
  await page.getByLabel('Name', { exact: true }).fill('typed-here');
  await page.getByRole('button', { name: 'Create VM', disabled: false }).click();
  await page.getByRole('alert').filter({ hasText: 'already exists' }).waitFor();
  await ask(page, 'DELETE', `${VMS}/typed-here`);
  await noFaults(page);
  await page.context().close();
}

async function figures(browser) {
  const page = await newPage(browser);
  await signIn(page, '#/vms/default/demo');
  await page.locator('.graph', { hasText: 'CPU' }).locator('.value', { hasText: /^\d+(\.\d)?%$/ }).waitFor();
  await page.locator('.graph', { hasText: 'Memory' }).locator('.value', { hasText: /^[\d.]+ MiB$/ }).waitFor();
  const drawn = () => page.locator('.graph canvas').first().evaluate(canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.reduce((sum, one) => sum + one, 0));
  await until('a line is drawn', async () => await drawn() > 0);
  const before = await drawn();
  await until('the line goes on', async () => await drawn() !== before);
  await noFaults(page);
  await page.context().close();
}

async function many(browser) {
  const page = await newPage(browser);
  await signIn(page);
  for (const name of ['many-1', 'many-2', 'many-3']) assert.equal((await ask(page, 'POST', VMS, vm(name, { metadata: { labels: { group: 'many' } } }))).code, 201);
  await page.getByLabel('Labels').fill('group=many');
  await page.getByText('3 of').waitFor();
  await until('all run', async () => (await page.locator('.row:not(.head) .status').allInnerTexts()).every(one => one === 'Running'));
  await page.getByLabel('Select all shown').click();
  await page.getByText('3 selected').waitFor();
  await page.locator('[data-action=stop][aria-disabled=false]').click();
  await page.getByText('All 3 would be accepted').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await until('all stopped, seen by the watch', async () => { const found = await page.locator('.row:not(.head) .status').allInnerTexts(); return found.length === 3 && found.every(one => one === 'Stopped'); });
  // What does not apply any more cannot be pressed; the VMIs go a moment after the VMs are said to be stopped.
  await page.locator('[data-action=stop][aria-disabled=true][title*="Only VMs that run"]').waitFor();
  await page.locator('[data-action=delete][aria-disabled=false]').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No VM matches.').waitFor();
  await noFaults(page);
  await page.context().close();
}

// The connection goes, things change, and the page has them afterwards.
async function cutWatch(browser) {
  const page = await newPage(browser), wire = await relay();
  await signIn(page, '#/vms', undefined, wire.base);
  await page.locator('.row:not(.head)').first().waitFor();
  const other = await newPage(browser);
  await signIn(other);
  wire.cut();
  await page.locator('.side').getByText('Reconnecting').waitFor();
  await ask(other, 'POST', VMS, vm('while-away'));
  wire.mend();
  await page.locator('.row', { hasText: 'while-away' }).waitFor();
  await page.locator('.side').getByText('Live').waitFor();
  await ask(other, 'DELETE', `${VMS}/while-away`);
  await page.locator('.row', { hasText: 'while-away' }).waitFor({ state: 'detached' });
  await other.context().close();
  await page.context().close();
  wire.close();
}

const only = process.env.UI_ONLY?.split(',');
const wanted = name => !only || only.includes(name);
await run(async browser => {
  if (wanted('tokens')) await refusedTokens(browser);
  const first = await newPage(browser);
  await signIn(first);
  const made = await ask(first, 'POST', VMS, vm('demo'));
  assert.ok([201, 409].includes(made.code), JSON.stringify(made));
  await first.locator('.row', { hasText: 'demo' }).getByText('Running').first().waitFor();
  await first.context().close();
  for (const [name, test] of [['keyboard', keyboardAlone], ['links', links], ['many', many], ['figures', figures], ['creating', creating], ['scripts', storedScripts], ['editing', editing], ['cut', cutWatch]]) {
    if (!wanted(name)) continue;
    await test(browser);
    note(`${name}: good`);
  }
  if (!wanted('pages')) return;
  const found = [...await pagesIn(browser, 'light', { width: 1360, height: 860 }, 'light'), ...await pagesIn(browser, 'dark', { width: 1360, height: 860 }, 'dark'), ...await pagesIn(browser, 'light', { width: 390, height: 800 }, 'phone')];
  assert.deepEqual(found, [], JSON.stringify(found, null, 1));
});
