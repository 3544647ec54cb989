import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const { dir } = createTempDirectory();
const paths = { '/a': { get: { operationId: 'listAgents', summary: 'List the agents' }, post: { operationId: 'createAgent' } } };
const server = createServer((_, response) => response.end(JSON.stringify({ paths, components: {} }))).listen(0, '127.0.0.1');
await once(server, 'listening');
const env = { ...unconfiguredEnvironment(), ANNALS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };

/** For each shell, a script that loads the completion from `$1` and prints the words that complete `annals api listA`. */
const SCRIPTS = {
  bash: `source "$1"; source "$1" 2> /dev/null
COMP_WORDS=(annals api listA) COMP_CWORD=2 COMP_LINE='annals api listA' COMP_POINT=16
compopt() { :; }
__annals_complete; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `autoload -U compinit; compinit -u -d "$1.dump"; source "$1"; [[ -n "\${_comps[annals]}" ]] && annals complete -- api listA`,
  fish: `source $argv[1]; complete -C 'annals api listA'`,
} as const;

const MARKS = { bash: /^complete .*annals$/m, zsh: /^#compdef annals/m, fish: /^complete .*annals/m } as const;

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  const isInstalled = spawnSync(shell, ['-c', 'true']).status === 0;
  test(`annals complete ${shell} prints a script of ${shell}${isInstalled ? ', with which it completes the name of an operation' : ''}`, async () => {
    const printing = startProgram(process.execPath, [mainFile, 'complete', shell], { env });
    assert.is(await printing.ended, 0);
    assert.match(printing.output(), MARKS[shell]);
    if (!isInstalled) return console.log(`${shell} is not installed: its script is only printed`);
    const file = join(dir, `completion.${shell}`);
    writeFileSync(file, printing.output());
    const command = join(dir, 'annals');
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`, { mode: 0o755 });
    const args =
      shell === 'fish'
        ? ['--no-config', '-c', SCRIPTS.fish, file]
        : [...(shell === 'zsh' ? ['-f'] : ['--norc']), '-c', SCRIPTS[shell], shell, file];
    const completing = startProgram(shell, args, { env: { ...env, PATH: `${dir}:${process.env.PATH}` } });
    assert.is(await completing.ended, 0, completing.output());
    assert.match(completing.output(), /^listAgents/m);
    assert.not.match(completing.output(), /createAgent|not found/);
  });
}

afterLastTest(() => {
  server.close();
  server.closeAllConnections();
});

test.run();
