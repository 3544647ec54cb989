// limit: 180 s for this file (test/run.ts)

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { registerUser } from '../../commands/identity/user.ts';
import * as User from '../../domain/identity/user.ts';
import { omit } from '../../domain/omit.ts';
import { openOperatorContext } from '../../infra/cli/operator-context.ts';
import type { KillablePlatform } from '../faults/running-platform.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const onPlatform = lentPlatform();

const login = async ({ data }: KillablePlatform, words: readonly string[] = [], more: NodeJS.ProcessEnv = {}) => {
  const base = omit(unconfiguredEnvironment(), 'DISPLAY', 'WAYLAND_DISPLAY');
  const env = { ...base, ANNALS_DATA: data, ...more };
  const program = startProgram(process.execPath, [mainFile, 'login', ...words], { env });
  const code = await program.ended;
  const [link] = /^http:\S+\/console\/in#\S+$/m.exec(program.output()) ?? [];
  return { code, output: program.output(), link };
};

/** Signs a browser in with a link. @returns the e-mail address of the user */
const signIn = async ({ url }: KillablePlatform, link: string): Promise<string> => {
  const headers = { origin: url, 'content-type': 'application/json' };
  const used = await fetch(`${url}/auth/link`, { method: 'POST', headers, body: JSON.stringify({ code: link.split('#')[1] }) });
  assert.is(used.status, 204, await used.text());
  const cookie = used.headers.getSetCookie().map((one) => one.split(';')[0]);
  const me = await fetch(`${url}/me`, { headers: { cookie: cookie.join('; ') } });
  return ((await me.json()) as { user: { email: string } }).user.email;
};

test('annals login prints a link that signs in the super-admin of the first start; an unknown or malformed address exits with 1', () =>
  onPlatform(async (platform) => {
    const { code, output, link } = await login(platform);
    assert.is(code, 0, output);
    assert.ok(link!.startsWith(`${platform.url}/console/in#`), link);
    const other = await login(platform, [], { PUBLIC_URL: 'https://annals.example.com' });
    assert.match(other.output, /^https:\/\/annals\.example\.com\/console\/in#/);
    assert.match(output, /^Opens the console once as admin@annals\.localhost, within 10 minutes\. /m);
    assert.is(await signIn(platform, link!), 'admin@annals.localhost');
    const unknown = await login(platform, ['--user', 'nobody@example.com']);
    assert.equal([unknown.code, unknown.output], [1, 'annals: No active user has the e-mail address nobody@example.com\n']);
    const malformed = await login(platform, ['--user', 'nobody']);
    assert.equal([malformed.code, malformed.output], [1, 'annals: --user must be an e-mail address\n']);
  }));

test('annals login --open opens the link in the browser; on a machine without one it says so, and exits with 0', () =>
  onPlatform(async (platform) => {
    const bin = join(platform.dir, 'bin');
    const opened = join(platform.dir, 'opened');
    mkdirSync(bin);
    writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" > '${opened}'\n`);
    chmodSync(join(bin, 'xdg-open'), 0o755);
    const screen = { DISPLAY: ':99', PATH: `${bin}:${process.env.PATH}` };
    if (process.platform === 'linux') {
      const shown = await login(platform, ['--open'], screen);
      assert.is(shown.code, 0, shown.output);
      assert.is(readFileSync(opened, 'utf8').trim(), shown.link);
      assert.not.match(shown.output, /No browser/);
      const withoutScreen = await login(platform, ['--open']);
      assert.is(withoutScreen.code, 0);
      assert.match(withoutScreen.output, /^No browser could be opened on this machine: open the link in one yourself\.$/m);
      assert.ok(withoutScreen.link);
    }
    writeFileSync(join(bin, 'xdg-open'), '#!/bin/sh\nexit 3\n');
    if (process.platform === 'linux') assert.match((await login(platform, ['--open'], screen)).output, /^No browser could be opened/m);
  }));

test('if the super-admin of the first start is suspended, annals login signs in the next active super-admin; without one it says how to get one', () =>
  onPlatform(async (platform) => {
    const log = platform.openLog();
    const ctx = await openOperatorContext(log, join(platform.data, 'master.key'), { kind: 'system', id: 'a test' });
    const change = (id: string, to: { is_suspended?: boolean; is_super_admin?: boolean }) =>
      ctx.transact(User, id, User.change({ ...to, reason: null }, false));
    const first = await registerUser(ctx, 'admin@annals.localhost', null);
    const [grace, ada] = [await registerUser(ctx, 'grace@example.com', null), await registerUser(ctx, 'ada@example.com', null)];
    for (const { id } of [grace, ada]) await change(id, { is_super_admin: true });
    try {
      await change(first.id, { is_suspended: true });
      await change(grace.id, { is_super_admin: false });
      await eventually('the platform knows the super-admin', async () => {
        const { link } = await login(platform);
        return link !== undefined && (await signIn(platform, link).catch(() => '')) === 'ada@example.com';
      });
      await change(ada.id, { is_suspended: true });
      const none = await login(platform);
      assert.is(none.code, 1);
      assert.match(none.output, /^annals: No super-admin is active: annals keys create --super-admin /);
    } finally {
      // Later test files use the same platform.
      await change(first.id, { is_suspended: false });
      await eventually('the key of the super-admin works again', async () => (await platform.call('GET', '/admin/tenants')).status === 200);
      await log.close();
    }
  }));

test.run();
