// Installs the packages of the lock file before other scripts of package.json. Any Node must be able to run this file.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MIN_NODE_VERSION = 18;
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const purpose = process.argv[2] === 'test' ? 'test' : 'start';

const exit = (line, code = 1) => {
  process.stderr.write(`annals: ${line}\n`);
  process.exit(code);
};

const platform = `${process.platform}-${process.arch}`;
const isMusl = () => process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;

/** The file has the hash of the lock file that was last installed for this purpose (start or test). */
const stampOf = (kind) => join(modules, `.annals-${kind}`);
const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const hash = createHash('sha256')
  .update(read(join(root, 'package-lock.json')))
  .update(platform)
  .digest('hex');

const matches = (allowed, actual) => allowed === undefined || [allowed].flat().includes(actual);

const packagesOf = (file) => Object.entries(JSON.parse(read(file) || '{}').packages ?? {});

const isNeeded = ([path, { dev, os, cpu }]) =>
  path !== '' && (purpose === 'test' || !dev) && matches(os, process.platform) && matches(cpu, process.arch);

/** Returns whether npm may leave out a package: one for another C library, or for processors without a package. */
const mayBeAbsent = ({ optional, os, libc }) => optional && (libc !== undefined || os === undefined);

/** npm records what it has installed, for example by `npm ci`. */
const hasNpmInstalled = () => {
  const installed = new Map(packagesOf(join(modules, '.package-lock.json')));
  const isComplete = ([path, entry]) => {
    if (!existsSync(join(root, path))) return mayBeAbsent(entry);
    return installed.get(path)?.integrity === entry.integrity;
  };
  return installed.size > 0 && packagesOf(join(root, 'package-lock.json')).filter(isNeeded).every(isComplete);
};

/** An installation for tests also contains all packages that a start needs. */
const isInstalled = () =>
  (purpose === 'test' ? ['test'] : ['test', 'start']).some((kind) => read(stampOf(kind)) === hash) || hasNpmInstalled();

/** Uses the npm that has started this script, with the same Node; otherwise the npm on the PATH. */
const npmCommand = () => {
  const { npm_execpath: script = '', npm_node_execpath: node = process.execPath } = process.env;
  return /npm-cli\.c?js$/.test(script) ? [node, script] : ['npm'];
};

/** Returns the exit code. @throws Error if the command cannot be started */
const run = ([command, ...args], cwd, stdio) =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_ENV: purpose === 'test' ? 'development' : 'production' };
    const child = spawn(command, args, { cwd, env, stdio });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });

// Hide npm's messages except errors: its warnings about Node concern the machine's own, which runs only this script.
const QUIET = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

/** No package needs install scripts, and the user's npm settings may forbid them. Returns the exit code. */
const installPackages = (work, ...options) => {
  const args = ['ci', ...QUIET, purpose === 'test' ? '--include=dev' : '--omit=dev', ...options];
  process.stderr.write(`annals: installing packages (npm ${args.join(' ')})\n`);
  return run([...npmCommand(), ...args], work, ['ignore', 2, 2]);
};

const WORK = '.packages-';
/** The directory inside the work directory in which the binary packages are unpacked. */
const BINARIES = 'binaries';

/** Node and PostgreSQL for this machine: 90 % of the download. */
const binaries = () =>
  packagesOf(join(root, 'package-lock.json'))
    .filter(([, { optional, dev, os, cpu }]) => optional && !dev && matches(os, process.platform) && matches(cpu, process.arch))
    .map(([path, { version, integrity }]) => ({ path, version, integrity, name: path.slice('node_modules/'.length) }));

/**
 * Downloads a package with npm and unpacks it with tar, which is faster than npm for large packages.
 * @throws Error if the download fails or its digest is not the one in the lock file
 */
const unpackBinary = async ({ path, name, version, integrity }, work) => {
  const to = join(work, BINARIES, path);
  mkdirSync(to, { recursive: true });
  const packed = await run([...npmCommand(), 'pack', `${name}@${version}`, '--pack-destination', to, ...QUIET], work, 'ignore');
  const file = readdirSync(to).find((entry) => entry.endsWith('.tgz'));
  if (packed !== 0 || !file) throw new Error(`${name} could not be downloaded`);
  const [algorithm, digest] = integrity.split(/-(.*)/s);
  const hashed = createHash(algorithm);
  for await (const chunk of createReadStream(join(to, file))) hashed.update(chunk);
  if (hashed.digest('base64') !== digest) throw new Error(`${name} does not have the digest that the lock file names`);
  const unpacked = await run(['tar', '-xzf', join(to, file), '-C', to, '--strip-components=1', '--no-same-owner'], work, 'ignore');
  if (unpacked !== 0) throw new Error(`${name} could not be unpacked`);
  rmSync(join(to, file));
};

/** Moves an unpacked package to the other packages, and links its commands in node_modules/.bin, as npm would do. */
const movePackage = ({ path, name }, work) => {
  const to = join(work, path);
  const commands = join(work, 'node_modules', '.bin');
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true });
  renameSync(join(work, BINARIES, path), to);
  const { bin = {} } = JSON.parse(read(join(to, 'package.json')));
  mkdirSync(commands, { recursive: true });
  for (const [command, file] of Object.entries(bin)) {
    const link = join(commands, command);
    rmSync(link, { force: true });
    symlinkSync(join('..', name, file), link);
    chmodSync(join(to, file), 0o755);
  }
};

/** Downloads the binary packages meanwhile, which halves the time. If this fails, npm installs all. Returns the exit code. */
const installInParallel = async (work) => {
  const platformPackages = binaries();
  const [packages, ...unpacked] = await Promise.allSettled([
    installPackages(work, '--omit=optional'),
    ...platformPackages.map((binary) => unpackBinary(binary, work)),
  ]);
  if (packages.status === 'rejected') throw packages.reason;
  if (packages.value !== 0) return packages.value;
  if (unpacked.some(({ status }) => status === 'rejected')) return installPackages(work);
  for (const binary of platformPackages) movePackage(binary, work);
  return 0;
};

const isDirectory = (path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Replaces the packages by those in `work`. They keep what is not a package: nats-server and the compile cache. */
const replacePackages = (work) => {
  const installed = join(work, 'node_modules');
  mkdirSync(installed, { recursive: true });
  if (isDirectory(modules) && existsSync(join(modules, '.cache'))) renameSync(join(modules, '.cache'), join(installed, '.cache'));
  writeFileSync(join(installed, `.annals-${purpose}`), hash);
  if (lstatSync(modules, { throwIfNoEntry: false })) renameSync(modules, join(work, 'replaced'));
  renameSync(installed, modules);
};

/** Installs beside the present packages, then exchanges them, so a failure changes nothing. Returns the exit code. */
const install = async () => {
  // Removes the remains of an interrupted installation.
  for (const name of readdirSync(root)) if (name.startsWith(WORK)) rmSync(join(root, name), { recursive: true, force: true });
  const work = mkdtempSync(join(root, WORK));
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      if (existsSync(join(root, name))) copyFileSync(join(root, name), join(work, name));
    const code = purpose === 'test' ? await installPackages(work) : await installInParallel(work);
    if (code === 0) replacePackages(work);
    return code;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

const attempt = (action, otherwise) => {
  try {
    return action();
  } catch {
    return otherwise;
  }
};

/** This process and those that have started it. */
const ownProcesses = () => {
  const parentOf = (pid) => Number(attempt(() => /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1], 0));
  const pids = [];
  for (let pid = process.pid; pid > 1; pid = parentOf(pid)) pids.push(String(pid));
  return pids;
};

/**
 * Returns a process whose program is in the packages: an installation would delete what it still has to load. A platform runs from a copy,
 * but not one of an earlier version, or of a user who cannot write here. Works only on Linux.
 */
const userOfPackages = () => {
  if (!isDirectory(modules)) return undefined;
  const real = `${realpathSync(modules)}/`;
  const own = ownProcesses();
  const pids = attempt(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name) && !own.includes(name));
  return pids.find((pid) => attempt(() => readlinkSync(`/proc/${pid}/exe`), '').startsWith(real));
};

const commandLineOf = (pid) => attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim(), '');

if (Number(process.versions.node.split('.')[0]) < MIN_NODE_VERSION)
  exit(`Node ${MIN_NODE_VERSION} or later is needed to install the packages (this is ${process.version}); Node 26 comes with them`);
if (!PLATFORMS.includes(platform))
  exit(`${platform} is not supported: Node 26 and PostgreSQL come as packages for ${PLATFORMS.join(', ')}`);
if (!isInstalled()) {
  if (isMusl()) exit('this Linux uses musl, for which there are no packages of Node 26 and PostgreSQL: use a Linux with glibc');
  const user = userOfPackages();
  if (user)
    exit(
      `other packages have to be installed, but process ${user} (${commandLineOf(user)}) still runs from the present ones: ` +
        'stop it first, or use a clone of its own',
    );
  const code = await install().catch((error) => exit(`the packages could not be installed: ${error.message}`));
  if (code !== 0) exit(`npm ci ended with code ${code}; its output above says why. Missing packages can only be installed with a network`);
}
