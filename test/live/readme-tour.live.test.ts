// limit: 180 s for this file (test/run.ts)
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { is, match, not, ok } from 'uvu/assert';
import { type Platform, withPlatform } from '../faults/platform.ts';
import { mainFile } from '../faults/running-platform.ts';
import { root, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const SHELLS = ['bash', 'zsh'];

/** Returns the text of a section of the README, from its heading to the next heading. */
const sectionOf = (heading: string): string => {
  const [, text] = readme.split(`\n${heading}\n`);
  ok(text, `the README has no section ${heading}`);
  return text!.split(/^#+ /m)[0]!;
};

/** Returns the shell commands of a section, as one text for each code block. */
const blocksOf = (heading: string): string[] => [...sectionOf(heading).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands!);

const superAdminKey = async ({ data }: Platform): Promise<string> => {
  const running = startProgram(process.execPath, [mainFile, 'keys', 'create', '--super-admin'], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data },
  });
  is(await running.ended, 0, running.output());
  return /ann_\w+/.exec(running.output())![0];
};

/**
 * A shell command that lists the deliveries of the tour. It is repeated until a rejected delivery is listed, because a
 * rejection is recorded only after the response.
 */
const DELIVERIES = 'get "$ANNALS_URL/tenant/$TENANT/webhook-integrations/$(printf "%s\\n" "$HOOK" | pick .id)/deliveries"';

/**
 * Returns a script that runs the commands of the tour as a reader would. The block that starts the runner runs in a
 * second shell, which gets the line that the block before it printed; all other blocks run in one shell. The script
 * waits until the runner is ready, and later until the runner has printed the delivery. It ends if one of these waits
 * takes longer than a minute.
 */
const scriptOf = (shell: string, dir: string): string => {
  const tour = blocksOf('## A five-minute tour');
  const runner = tour.findIndex((commands) => commands.includes(' runner --agent'));
  const deliver = tour.findIndex((commands) => commands.startsWith('deliver()'));
  ok(runner > 0 && deliver === runner + 1, 'the tour starts a runner before it sends deliveries');
  const log = join(dir, 'runner.log');
  const waitFor = (text: string): string =>
    `for _ in $(seq 1 600); do grep -q '${text}' '${log}' && break; sleep 0.1; done; grep -q '${text}' '${log}'\n`;
  const inThirdTerminal = join(dir, 'third');
  writeFileSync(inThirdTerminal, `eval "$PASTED"\nexec ${tour[runner]!.trim()}\n`);
  return [
    ...tour.slice(0, runner),
    `PASTED="export ANNALS_URL=$ANNALS_URL ANNALS_KEY=$KEY" ANNALS_DATA='${dir}' ${shell} '${inThirdTerminal}' > '${log}' 2>&1 & RUNNER=$!\n`,
    waitFor('waiting for deliveries'),
    ...tour.slice(deliver, deliver + 1),
    waitFor('logically awesome'),
    `for _ in $(seq 1 100); do REFUSED=$(${DELIVERIES}); case $REFUSED in *rejected*) break;; esac; sleep 0.1; done; echo "$REFUSED"\n`,
    ...tour.slice(deliver + 1),
    ...blocksOf('### Members'),
    ...blocksOf('## Signing in'),
    `kill $RUNNER; wait $RUNNER; cat '${log}'\n`,
  ].join('\n');
};

for (const shell of SHELLS) {
  if (spawnSync(shell, ['-c', 'true']).status !== 0) {
    console.log(`${shell} is not installed: its run of the tour is skipped`);
    continue;
  }
  test(`the commands of the tour in the README work in ${shell} exactly as they are printed`, () =>
    withPlatform(async (platform) => {
      const key = await superAdminKey(platform);
      const file = join(platform.data, 'tour');
      writeFileSync(file, scriptOf(shell, platform.data));
      const running = startProgram(shell, [...(shell === 'zsh' ? ['-f'] : ['--norc']), '-e', file], {
        env: {
          ...unconfiguredEnvironment(),
          PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
          ANNALS_URL: platform.url,
          ANNALS_KEY: key,
        },
      });
      await running.ended;
      const output = running.output();
      const seen = [/"slug":"demo"/, /^etag: /m, /"secret":"/, /^export ANNALS_URL=\S+ ANNALS_KEY=ann_\w+$/m];
      const answers = [
        /accepted.* 202$/m,
        /duplicate.* 200$/m,
        /unauthorized.* 401$/m,
        /"outcome":"rejected"/,
        /"action":"webhook\.rejected"/,
      ];
      const members = [/"name":"Invitation".*"key":"ann_\w+"/, /"name":"Dashboard".*"read_only":true/];
      const runner = [/"specversion":"1\.0".*Keep it logically awesome/];
      for (const pattern of [...seen, ...answers, ...members, ...runner]) match(output, pattern);
      not.match(output, /not found|no matches|SyntaxError|undefined/);
    }));
}

test('the commands of the README contain no comments and no unquoted wildcards, so that they also work when they are pasted into zsh', () => {
  for (const [, commands] of readme.matchAll(/^```sh\n(.*?)^```$/gms)) {
    // In an interactive zsh, # does not start a comment, and an unquoted word with ?, * or [ is treated as a file
    // pattern.
    const unquoted = commands!.replace(/'[^']*'|"(?:[^"\\]|\\.)*"/gs, '""');
    const [found] = /(^|\s)#.*|\S*[?*[]\S*/m.exec(unquoted) ?? [];
    is(found, undefined, commands);
  }
});

test.run();
