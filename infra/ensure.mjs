// Brings the packages that the lock file names, by npm, before anything else runs. Plain JavaScript: the machine's own Node runs it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 18;
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const purpose = process.argv[2] === 'test' ? 'test' : 'start';

const stop = (line, code = 1) => {
  process.stderr.write(`annals: ${line}\n`);
  process.exit(code);
};

const platform = `${process.platform}-${process.arch}`;
const isMusl = () => process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;

const stampOf = (kind) => join(modules, `.annals-${kind}`);
const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const hash = createHash('sha256')
  .update(read(join(root, 'package-lock.json')))
  .update(platform)
  .digest('hex');

/** What tests need holds all that a start needs. */
const isDone = () => (purpose === 'test' ? ['test'] : ['test', 'start']).some((kind) => read(stampOf(kind)) === hash);

/** The npm that runs us, by the Node that runs it; an npm from the path where another tool does. */
const npm = () => {
  const { npm_execpath: script = '', npm_node_execpath: node = process.execPath } = process.env;
  return /npm-cli\.c?js$/.test(script) ? [node, script] : ['npm'];
};

const install = () => {
  // No package needs its install script: where some are allowed and others are not, all would depend on the machine.
  const words = [
    'ci',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    // Its warnings are of this machine's Node, which only begins: Node 26 runs the rest.
    '--loglevel=error',
    purpose === 'test' ? '--include=dev' : '--omit=dev',
  ];
  process.stderr.write(`annals: bringing packages (npm ${words.join(' ')})\n`);
  const [command, ...first] = npm();
  const env = { ...process.env, NODE_ENV: purpose === 'test' ? 'development' : 'production' };
  const { status, error } = spawnSync(command, [...first, ...words], { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (error) stop(`npm could not be run: ${error.message}`);
  if (status !== 0)
    stop(`npm ci ended with code ${status}, its reasons stand above; without a network, missing packages cannot be brought`);
};

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE)
  stop(`Node ${OLDEST_NODE} or later is needed to begin with (this is ${process.version}); Node 26 itself comes with the packages`);
if (!PLATFORMS.includes(platform))
  stop(`${platform} is not supported: Node 26 and PostgreSQL come as packages for ${PLATFORMS.join(', ')}`);
if (!isDone()) {
  if (isMusl()) stop('this Linux uses musl, for which there are no packages of Node 26 and PostgreSQL: use one with glibc');
  for (const kind of ['start', 'test']) rmSync(stampOf(kind), { force: true });
  install();
  mkdirSync(modules, { recursive: true });
  writeFileSync(stampOf(purpose), hash);
}
