// Brings the packages that the lock file names, by npm, before anything else runs. Plain JavaScript: the machine's own Node runs it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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

/** Resolves to the exit code. @throws where the command cannot be run */
const run = ([command, ...words], stdio) =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_ENV: purpose === 'test' ? 'development' : 'production' };
    const child = spawn(command, words, { cwd: root, env, stdio });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });

// Of npm's warnings those of engines speak of this machine's Node, which only begins: Node 26 runs the rest.
const QUIET = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

/** No package needs its install script: where some are allowed and others are not, all would depend on the machine. @returns the exit code */
const installPackages = (...words) => {
  const all = ['ci', ...QUIET, purpose === 'test' ? '--include=dev' : '--omit=dev', ...words];
  process.stderr.write(`annals: bringing packages (npm ${all.join(' ')})\n`);
  return run([...npm(), ...all], ['ignore', 2, 2]);
};

const fits = (wanted, own) => wanted === undefined || [wanted].flat().includes(own);

/** What the lock file names for this platform beside the packages that every platform has: Node and PostgreSQL, nine tenths of all bytes. */
const binaries = () =>
  Object.entries(JSON.parse(read(join(root, 'package-lock.json'))).packages)
    .filter(([, { optional, dev, os, cpu }]) => optional && !dev && fits(os, process.platform) && fits(cpu, process.arch))
    .map(([path, { version, integrity }]) => ({ path, version, integrity, name: path.slice('node_modules/'.length) }));

/** Has npm download a package, and tar unpack it: npm itself unpacks large ones in small steps. @throws where it is not what the lock file names */
const unpackBinary = async ({ path, name, version, integrity }, work) => {
  const to = join(work, path);
  mkdirSync(to, { recursive: true });
  const packed = await run([...npm(), 'pack', `${name}@${version}`, '--pack-destination', to, ...QUIET], 'ignore');
  const file = readdirSync(to).find((one) => one.endsWith('.tgz'));
  if (packed !== 0 || !file) throw new Error(`${name} could not be downloaded`);
  const [algorithm, digest] = integrity.split(/-(.*)/s);
  const hashed = createHash(algorithm);
  for await (const part of createReadStream(join(to, file))) hashed.update(part);
  if (hashed.digest('base64') !== digest) throw new Error(`${name} is not what the lock file names`);
  const unpacked = await run(['tar', '-xzf', join(to, file), '-C', to, '--strip-components=1', '--no-same-owner'], 'ignore');
  if (unpacked !== 0) throw new Error(`${name} could not be unpacked`);
  rmSync(join(to, file));
};

/** Moves what was unpacked to where npm would have put it, with the commands that it brings. */
const place = ({ path, name }, work) => {
  const to = join(root, path);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true });
  renameSync(join(work, path), to);
  const { bin = {} } = JSON.parse(read(join(to, 'package.json')));
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const [command, file] of Object.entries(bin)) {
    const link = join(modules, '.bin', command);
    rmSync(link, { force: true });
    symlinkSync(join('..', name, file), link);
    chmodSync(join(to, file), 0o755);
  }
};

const WORK = '.packages-';

/** Binaries and packages side by side: half the time of one after the other. Where that fails, all by npm. @returns the exit code */
const installApart = async (work) => {
  const all = binaries();
  const [packages, ...unpacked] = await Promise.allSettled([
    installPackages('--omit=optional'),
    ...all.map((one) => unpackBinary(one, work)),
  ]);
  if (packages.status === 'rejected') throw packages.reason;
  if (packages.value !== 0) return packages.value;
  if (unpacked.some(({ status }) => status === 'rejected')) return installPackages();
  for (const one of all) place(one, work);
  return 0;
};

const install = async () => {
  if (purpose === 'test') return installPackages();
  // What an install that was broken off has left.
  for (const name of readdirSync(root)) if (name.startsWith(WORK)) rmSync(join(root, name), { recursive: true, force: true });
  const work = mkdtempSync(join(root, WORK));
  try {
    return await installApart(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE)
  stop(`Node ${OLDEST_NODE} or later is needed to begin with (this is ${process.version}); Node 26 itself comes with the packages`);
if (!PLATFORMS.includes(platform))
  stop(`${platform} is not supported: Node 26 and PostgreSQL come as packages for ${PLATFORMS.join(', ')}`);
if (!isDone()) {
  if (isMusl()) stop('this Linux uses musl, for which there are no packages of Node 26 and PostgreSQL: use one with glibc');
  for (const kind of ['start', 'test']) rmSync(stampOf(kind), { force: true });
  const code = await install().catch((error) => stop(`the packages could not be brought: ${error.message}`));
  if (code !== 0) stop(`npm ci ended with code ${code}, its reasons stand above; without a network, missing packages cannot be brought`);
  mkdirSync(modules, { recursive: true });
  writeFileSync(stampOf(purpose), hash);
}
