import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import { copyCode, root, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

const unit = (directory: string, ...words: string[]): string =>
  execFileSync(process.execPath, [join(directory, 'infra/main.ts'), 'unit', ...words], {
    encoding: 'utf8',
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: join(directory, 'my 100 % "data"') },
  });

const settingIn = (text: string, name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];

/** Splits a command line of a unit file into words, as the manual page systemd.syntax(7) describes it. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) =>
    (quoted ?? plain!).replace(/\\(.)/g, '$1').replaceAll('$$', '$').replaceAll('%%', '%'),
  );

test('annals unit prints a systemd unit that starts this checkout with the same Node binary that runs annals unit', () => {
  const texts = new Map(['start', 'serve', 'work'].map((service) => [service, unit(root, '--service', service)]));
  for (const [service, text] of texts) {
    equal(wordsOf(settingIn(text, 'ExecStart')!), [process.execPath, join(root, 'infra/main.ts'), service]);
    is(settingIn(text, 'WorkingDirectory'), root);
    equal(wordsOf(settingIn(text, 'Environment')!), [`ANNALS_DATA=${join(root, 'my 100 % "data"')}`]);
  }
  is(unit(root), texts.get('start'));
});

test('annals unit --service accepts only the commands start, serve and work', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'infra/main.ts'), 'unit', '--service', 'doctor'], {
    encoding: 'utf8',
  });
  is(status, 2);
  match(stderr, '--service must be one of start, serve, work');
});

if (hasSystemd)
  test('systemd accepts the unit that annals unit prints, even if the paths of the checkout and the data directory contain unusual characters', () => {
    const { dir, clear } = createTempDirectory();
    const odd = join(dir, 'a 50 % $HOME "checkout"');
    copyCode(odd, ['domain', 'commands', 'projections', 'api', 'infra']);
    for (const [index, directory] of [root, odd].entries()) {
      const file = join(dir, `annals${index}.service`);
      const text = unit(directory);
      writeFileSync(file, text);
      equal(wordsOf(settingIn(text, 'ExecStart')!).slice(1), [join(directory, 'infra/main.ts'), 'start']);
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
      const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(`annals${index}`));
      equal([status, complaints], [0, []]);
    }
    clear();
  });
else {
  console.log('systemd-analyze is not installed: its check of the unit is skipped');
  ok(true);
}

test.run();
