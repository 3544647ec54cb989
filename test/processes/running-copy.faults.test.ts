// limit: 300
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { checkout, eventually, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';

const CHILDREN = ['nats', 'postgres', 'store', 'serve', 'work'];
const DELETED = ['node_modules', 'api', 'commands', 'domain', 'infra', 'projections', 'test', 'package.json'];

test('a platform keeps working, and restarts its processes, after packages and sources of its checkout were deleted', () =>
  withTempDirectory(async (dir) => {
    const [from, data, port] = [join(dir, 'checkout'), join(dir, 'data'), String(await freePort())];
    checkout(from);
    const env = {
      ...unconfiguredEnvironment(),
      ANNALS_DATA: data,
      PORT: port,
      LOG_LEVEL: 'warn',
      NODE_COMPILE_CACHE: join(dir, 'compiled'),
    };
    const platform = startProgram(process.execPath, ['infra/main.ts', 'start'], { cwd: from, env });
    const base = `http://127.0.0.1:${port}`;
    await platform.waitForOutput(/^ready /m);
    equal(existsSync(join(from, '.programs/0/bundle/main.js')), true, platform.output());
    for (const name of DELETED) rmSync(join(from, name), { recursive: true, force: true });

    const pidOf = (name: string): number | undefined => readPidFile(join(data, 'run', `${name}.pid`))?.pid;
    const isReady = (): Promise<boolean> =>
      fetch(`${base}/readyz`).then(
        async (answer) => answer.ok && ((await answer.json()) as { degraded: string[] }).degraded.length === 0,
        () => false,
      );
    for (const name of CHILDREN) {
      const killed = pidOf(name)!;
      process.kill(killed, 'SIGKILL');
      await eventually(`${name} is back`, () => ![undefined, killed].includes(pidOf(name)));
      await eventually(`everything works after ${name} was killed`, isReady);
    }

    const page = await fetch(`${base}/console/sign-in`);
    const text = await page.text();
    equal([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
    const [, style] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
    is((await fetch(new URL(style!, base))).status, 200);
    is((await fetch(`${base}/docs`)).status, 200);
    for (const name of CHILDREN)
      equal(/ERR_MODULE_NOT_FOUND|Dynamic require/.test(readFileSync(join(data, 'logs', `${name}.log`), 'utf8')), false, name);
    match(platform.output(), /postgres ended \(signal SIGKILL\) and is started again/);
    is(await platform.stop(), 0);
  }));

test.run();
