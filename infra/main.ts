import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { type CommandDef, defineCommand, renderUsage, runCommand } from 'citty';
import { countOf, portOf, rejectUnknownArguments, usageError } from './cli/arguments.ts';
import { fail, finish, printError } from './cli/exit.ts';
import type { Config } from './config.ts';
import { ignoreBrokenPipe, watchOutput } from './logging/nonblocking-stdout.ts';
import { COMPILE_CACHE } from './processes/compile-cache.ts';
import { becomeLean } from './processes/lean-process.ts';

type Service = { close(): Promise<void> };

const EXIT_USAGE = 2;
const FLUSH_MS = 2_000;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

// If the directory cannot be written, nothing is cached.
enableCompileCache(COMPILE_CACHE);

const variable = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

const configured = async (...needed: (keyof Config)[]): Promise<Config> => {
  const { loadConfig } = await import('./config.ts');
  const config = loadConfig(process.env);
  const missing = needed.find((field) => !config[field]);
  if (missing) throw new Error(`${variable(missing)} must be set for this command`);
  return config;
};

/** Resolves when the process is asked to end: by a signal, or by the loss of the parent that supervises it. */
const asked = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of SIGNALS) process.on(signal, () => resolve());
    if (process.channel) process.once('disconnect', () => resolve());
  });

/** Runs a service until it is asked to end, closes it once, and leaves with 0. */
const until = async (begin: () => Promise<Service>): Promise<void> => {
  ignoreBrokenPipe();
  const end = asked();
  const service = await Promise.race([begin(), end]);
  // Now, and not only at its end: a process that is killed begins again as fast.
  setTimeout(flushCompileCache, FLUSH_MS).unref();
  await end;
  await service?.close();
  await finish(0);
};

/** Does what an operator asks of a platform that runs. */
const ask = async (work: (config: Config) => Promise<number>): Promise<void> => {
  const config = await configured();
  const { withRunningPlatform } = await import('./cli/locate-services.ts');
  await finish(await withRunningPlatform(() => work(config)));
};

const place = { type: 'string', description: 'Directory that holds the store' } as const;
const dir = { ...place, required: true } as const;
const ownDir = { ...place, description: 'Directory that holds the store (default: store in ANNALS_DATA)' } as const;

const storeDir = async (given: string | undefined): Promise<string> => given ?? join((await configured()).annalsData, 'store');

const store = defineCommand({
  meta: { name: 'store', description: 'The embedded event store: serve, verify, backup, scavenge' },
  subCommands: {
    serve: defineCommand({
      meta: { name: 'serve', description: 'Run the store alone' },
      args: {
        dir,
        port: { type: 'string', description: 'Port on 127.0.0.1', required: true },
        open: { type: 'boolean', description: 'Ask no secret of callers (for tests)' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const port = portOf(args.port);
        const { serveStore } = await import('./eventstore/embedded/serve-store.ts');
        // What it allocates is dead after a turn: grown to its usual 2 x 16 MiB, the new space would hold nothing but that.
        setFlagsFromString('--semi-space-growth-factor=1');
        await until(() => serveStore({ dir: args.dir, port, open: args.open === true }));
      },
    }),
    verify: defineCommand({
      meta: { name: 'verify', description: 'Check every record and index' },
      args: { dir: ownDir },
      setup: rejectUnknownArguments,
      run: async ({ args }) => finish(await (await import('./eventstore/embedded/verify-store.ts')).verifyStore(await storeDir(args.dir))),
    }),
    backup: defineCommand({
      meta: { name: 'backup', description: 'Copy the store while it runs' },
      args: { dir: ownDir, to: { type: 'string', description: 'Directory to write', required: true } },
      setup: rejectUnknownArguments,
      run: async ({ args }) =>
        finish(await (await import('./eventstore/embedded/backup-store.ts')).backupStore(await storeDir(args.dir), args.to)),
    }),
    scavenge: defineCommand({
      meta: { name: 'scavenge', description: 'Drop what was deleted or has expired' },
      args: { dir: ownDir },
      setup: rejectUnknownArguments,
      run: async ({ args }) =>
        finish(await (await import('./eventstore/embedded/scavenge-store.ts')).scavengeStore(await storeDir(args.dir))),
    }),
  },
});

const main = defineCommand({
  meta: { name: 'annals', description: 'Run and administer software agents; the log is the truth' },
  subCommands: {
    start: defineCommand({
      meta: { name: 'start', description: 'Run everything on this machine' },
      setup: rejectUnknownArguments,
      run: async () => {
        const { annalsData, host, port, publicUrl, eventstoreUrl, databaseUrl, natsUrl, natsAccountSeed } = await configured();
        const options = { annalsData, host, port, publicUrl, eventstoreUrl, databaseUrl, natsUrl, natsAccountSeed };
        becomeLean({ command: 'start', options });
      },
    }),
    serve: defineCommand({
      meta: { name: 'serve', description: 'Serve HTTP' },
      setup: rejectUnknownArguments,
      run: async () => {
        const config = await configured('eventstoreUrl', 'databaseUrl', 'natsUrl');
        const { serve } = await import('./processes/serve.ts');
        await until(() => serve(config));
      },
    }),
    work: defineCommand({
      meta: { name: 'work', description: 'Keep projections and reactors' },
      setup: rejectUnknownArguments,
      run: async () => {
        const config = await configured('eventstoreUrl', 'databaseUrl', 'natsUrl');
        const { work } = await import('./processes/work.ts');
        await until(() => work(config));
      },
    }),
    runner: defineCommand({
      meta: { name: 'runner', description: 'Give the deliveries of an agent to a command' },
      args: {
        agent: { type: 'string', description: 'Slug of the agent', required: true },
        exec: { type: 'string', description: 'Command that reads the CloudEvent from standard input', required: true },
        concurrency: { type: 'string', description: 'How many deliveries at once', default: '1' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args: { agent, exec, concurrency } }) => {
        const { annalsUrl, annalsKey, annalsData } = await configured('annalsUrl', 'annalsKey');
        const dir = join(annalsData, 'runner');
        const options = { url: annalsUrl!, key: annalsKey!, agent, exec, dir, concurrency: countOf(concurrency) };
        becomeLean({ command: 'runner', options });
      },
    }),
    store,
    rebuild: defineCommand({
      meta: { name: 'rebuild', description: 'Build a projection anew beside the live one and put it in its place' },
      args: {
        projection: { type: 'positional', description: 'Name of the projection', required: false },
        all: { type: 'boolean', description: 'Every projection, one after another' },
        'if-equal': { type: 'boolean', description: 'Keep the old rows where the new ones differ' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { rebuild } = await import('./cli/rebuild-projections.ts');
        await ask((config) => rebuild(config, { projection: args.projection, all: args.all === true, ifEqual: args['if-equal'] === true }));
      },
    }),
    replay: defineCommand({
      meta: { name: 'replay', description: 'Print events as JSON lines' },
      args: {
        stream: { type: 'positional', description: 'One stream; without it the whole log', required: false },
        tenant: { type: 'string', description: 'Only events of this tenant' },
        from: { type: 'string', description: 'From this position or time on' },
        to: { type: 'string', description: 'Up to this position or time' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args: { stream, tenant, from, to } }) => {
        const { replay } = await import('./cli/print-events.ts');
        await ask((config) => replay(config, { stream, tenant, from, to }));
      },
    }),
    verify: defineCommand({
      meta: { name: 'verify', description: 'Fold every row again from the log and compare' },
      setup: rejectUnknownArguments,
      run: async () => ask((await import('./cli/verify-projections.ts')).verify),
    }),
    doctor: defineCommand({
      meta: { name: 'doctor', description: 'Look at everything the platform stands on and say what to do' },
      setup: rejectUnknownArguments,
      run: async () => finish(await (await import('./cli/doctor.ts')).doctor(await configured())),
    }),
    demo: defineCommand({
      meta: { name: 'demo', description: 'Start all and send it real deliveries' },
      setup: rejectUnknownArguments,
      run: async () => finish(await (await import('./cli/demo/demo.ts')).demo(await configured())),
    }),
  },
});

const innerOf = (command: CommandDef): Record<string, CommandDef> => (command.subCommands as Record<string, CommandDef> | undefined) ?? {};
const nameOf = ({ meta }: CommandDef): string => (meta as { name: string }).name;

/** The innermost command that the words name, and its parent under its whole name. */
const named = (words: readonly string[], command: CommandDef = main, parent?: CommandDef): [CommandDef, CommandDef?] => {
  const inner = innerOf(command)[words[0] ?? ''];
  if (!inner) return parent ? [command, parent] : [command];
  const whole = parent ? `${nameOf(parent)} ${nameOf(command)}` : nameOf(command);
  return named(words.slice(1), inner, { ...command, meta: { name: whole } });
};

/** What stands before a command's name would be left out of account. */
const checkFirst = (words: readonly string[], command: CommandDef = main): void => {
  const [word = '', ...rest] = words;
  const inner = innerOf(command);
  if (Object.keys(inner).length > 0 && word.startsWith('-')) throw usageError(`Unknown option ${word}`);
  if (inner[word]) checkFirst(rest, inner[word]);
};

const plain = (text: string, stream: NodeJS.WriteStream): string =>
  stream.isTTY ? text : stripVTControlCharacters(text).replace(/ +$/gm, '');

const showUsage = async (words: readonly string[], stream: NodeJS.WriteStream): Promise<void> =>
  void stream.write(`${plain(await renderUsage(...named(words)), stream)}\n`);

const cli = async (words: string[]): Promise<void> => {
  if (words.some((word) => word === '--help' || word === '-h')) return showUsage(words, process.stdout);
  checkFirst(words);
  await runCommand(main, { rawArgs: words });
};

const refuse = async (words: readonly string[], error: unknown): Promise<never> => {
  if (!(error instanceof Error && error.name === 'CLIError')) return fail(error);
  await showUsage(words, process.stderr);
  printError(plain(error.message, process.stderr));
  process.exit(EXIT_USAGE);
};

watchOutput(printError);
const words = process.argv.slice(2);
await cli(words).catch((error: unknown) => refuse(words, error));
