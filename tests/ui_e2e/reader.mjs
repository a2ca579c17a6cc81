// Somebody who may only look, and only in one namespace: the page says so before anything is pressed.
import assert from 'node:assert/strict';
import { newPage, noFaults, run, shot, signIn } from './browser.mjs';

await run(async browser => {
  const page = await newPage(browser);
  await signIn(page);
  await page.getByText('You may not list VMs in all namespaces.').waitFor();
  await page.getByLabel('Show one namespace').fill('default');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.locator('.row', { hasText: 'demo' }).getByRole('link').click();
  await page.getByRole('heading', { name: 'demo', level: 1 }).waitFor();
  await page.locator('[data-action=stop][title^="You may not update virtualmachines/stop"]').waitFor();
  for (const action of ['stop', 'restart', 'pause', 'migrate', 'delete']) {
    const button = page.locator(`[data-action=${action}]`);
    assert.equal(await button.getAttribute('aria-disabled'), 'true', action);
    assert.match(await button.getAttribute('title'), /^You may not (update|delete)/, action);
  }
  await page.locator('[data-action=stop]').click({ force: true });
  await page.getByRole('status').filter({ hasText: 'You may not' }).first().waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await shot(page, 'reader');
  await page.getByRole('tab', { name: 'YAML' }).click();
  await page.getByLabel('YAML of demo').fill('changed: true');
  assert.ok(await page.getByRole('button', { name: 'Review and save' }).isDisabled());
  await page.getByRole('tab', { name: 'Screen and console' }).click();
  await page.locator('.overlay').filter({ hasText: 'You may not get virtualmachineinstances/console' }).waitFor();
  await noFaults(page);
});
