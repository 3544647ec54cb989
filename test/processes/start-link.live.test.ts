// limit: 180 s for this file (test/run.ts)
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { is, match } from 'uvu/assert';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { mainFile, type Program, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';

const LINK = /http:\/\/127\.0\.0\.1:\d+\/console\/in#(c[a-z0-9]{24}\.\w+)/;
/** The util-linux command `script` runs a command in its own terminal. */
const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** Starts a platform for the first time, on a terminal, and stops it after `use`, which also gets everything in its log files. */
const onFirstStart = (use: (program: Program, logs: () => string) => Promise<void>): Promise<void> =>
  withTempDirectory(async (dir) => {
    const data = join(dir, 'data');
    const env = { ...unconfiguredEnvironment(), ANNALS_DATA: data, PORT: String(await freePort()) };
    const words = [process.execPath, mainFile, 'start'].map((word) => `'${word}'`);
    const program = startProgram('script', ['-qefc', words.join(' '), '/dev/null'], { env });
    await program.waitForOutput(/^ready http/m);
    await use(program, () =>
      globSync(join(data, 'logs', '*'))
        .map((file) => readFileSync(file, 'utf8'))
        .join('\n'),
    );
    process.kill(readPidFile(join(data, 'annals.pid'))!.pid, 'SIGTERM');
    is(await program.ended, 0, program.output());
  });

const live = hasScript ? test : test.skip;
if (!hasScript) console.log('the command script is not installed: the start on a terminal is skipped');

// test/processes/start.faults.test.ts checks that a start without a terminal prints no link.
live('on a terminal, the first start prints a link that signs a browser in; no log contains the link or its code', () =>
  onFirstStart(async (program, logs) => {
    const [link, code] = LINK.exec(program.output())!;
    match(program.output(), /export ANNALS_KEY=ann_/);
    const headers = { origin: new URL(link!).origin, 'content-type': 'application/json' };
    const used = await fetch(new URL('/auth/link', link), { method: 'POST', headers, body: JSON.stringify({ code }) });
    is(used.status, 204);
    match(logs(), /"listening"/);
    is(logs().includes(code!), false);
  }),
);

test.run();
