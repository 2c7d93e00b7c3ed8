// Chromium for tests/web/browser.py: a command a line in, an answer a line out, both JSON.
//
// A command is { "do": name, "page": number, ... }, an answer { "value": ... } or { "error": ... }.
// The browser is Debian's, and keeps its profile in a directory of its own that goes with it.

import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

const [, , modules, executablePath] = process.argv;
const { chromium } = createRequire(modules)('playwright-core');

const browser = await chromium.launch({
  executablePath,
  headless: true,
  // The tests run as root, for whom Chromium has no sandbox.
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
    '--disable-background-networking', '--disable-component-update',
    '--host-resolver-rules=MAP not-local.example 127.0.0.1'],
});
const pages = [];

/** What a page did that it must not do: requests, errors, refusals of its policy. */
function watched(page) {
  const seen = { requests: [], errors: [] };
  page.on('request', (request) => seen.requests.push(request.url()));
  page.on('pageerror', (error) => seen.errors.push(`${error}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) seen.errors.push(message.text());
  });
  return seen;
}

const DO = {
  async open({ url, locale, width, height, dark, script, broken }) {
    const context = await browser.newContext({
      locale, viewport: { width, height }, colorScheme: dark ? 'dark' : 'light',
      javaScriptEnabled: script,
    });
    const page = await context.newPage();
    const seen = watched(page);
    await page.addInitScript(() => {
      globalThis.violations = [];
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
        globalThis.violations.push(`${violatedDirective} ${blockedURI}`));
    });
    await page.addInitScript(broken);
    await page.goto(url);
    pages.push({ page, seen });
    return pages.length - 1;
  },
  evaluate: ({ page, script }) => pages[page].page.evaluate(script),
  fill: ({ page, selector, text }) => pages[page].page.fill(selector, text),
  select: ({ page, selector, value }) => pages[page].page.selectOption(selector, value),
  click: ({ page, selector }) => pages[page].page.click(selector),
  press: ({ page, key }) => pages[page].page.keyboard.press(key),
  type: ({ page, text }) => pages[page].page.keyboard.type(text),
  choose: ({ page, selector, files }) => pages[page].page.setInputFiles(selector, files),
  media: ({ page, media }) => pages[page].page.emulateMedia({ media }),
  seen: ({ page }) => pages[page].seen,
  close: ({ page }) => pages[page].page.context().close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await DO[command.do](command)) ?? null };
  } catch (error) {
    answer = { error: `${error}` };
  }
  console.log(JSON.stringify(answer));
}
await browser.close();
