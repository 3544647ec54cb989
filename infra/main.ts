import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { type ArgsDef, type CommandContext, type CommandDef, defineCommand, renderUsage, runCommand } from 'citty';
import type { Config } from './config.ts';

type Service = { close(): Promise<void> };

const EXIT_USAGE = 2;
const FLUSH_MS = 2_000;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

// Halves what a process needs to begin; where the directory cannot be written, nothing is kept.
const compiled = join(import.meta.dirname, '../node_modules/.cache/annals/compiled');
enableCompileCache(compiled);

const say = (line: string): void => void process.stderr.write(`annals: ${line}\n`);

const lineOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] || 'failed, giving no reason';

const fail = (error: unknown): never => {
  say(lineOf(error));
  if (/^(debug|trace)$/.test(process.env.LOG_LEVEL ?? '')) console.error(error);
  process.exit(1);
};

const finish = (code: number): never => process.exit(code);

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
  const end = asked();
  const service = await Promise.race([begin(), end]);
  // Now, and not only at its end: a process that is killed begins again as fast.
  setTimeout(flushCompileCache, FLUSH_MS).unref();
  await end;
  await service?.close();
  finish(0);
};

const usageError = (message: string): Error => Object.assign(new Error(message), { name: 'CLIError' });

/** citty lets unknown options and extra words pass; a mistyped option must not start something else. */
const strict = <T extends ArgsDef>({ args, cmd }: CommandContext<T>): void => {
  const unknown = Object.keys(args).find((name) => name !== '_' && !(name in ((cmd.args as ArgsDef | undefined) ?? {})));
  if (unknown) throw usageError(`Unknown option --${unknown}`);
  if (args._.length > 0) throw usageError(`Unexpected argument ${args._[0]}`);
};

const portOf = (value: string): number => {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw usageError('--port must be a port number');
  return Number(value);
};

const countOf = (value: string): number => {
  if (!/^[1-9]\d{0,2}$/.test(value)) throw usageError('--concurrency must be a number from 1 to 999');
  return Number(value);
};

const dir = { type: 'string', description: 'Directory that holds the store', required: true } as const;

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
      setup: strict,
      run: async ({ args }) => {
        const port = portOf(args.port);
        const { serveStore } = await import('./eventstore/embedded/serve.ts');
        // What it allocates is dead after a turn: grown to its usual 2 x 16 MiB, the new space would hold nothing but that.
        setFlagsFromString('--semi-space-growth-factor=1');
        await until(() => serveStore({ dir: args.dir, port, open: args.open === true }));
      },
    }),
    verify: defineCommand({
      meta: { name: 'verify', description: 'Check every record and index' },
      args: { dir },
      setup: strict,
      run: async ({ args }) => finish(await (await import('./eventstore/embedded/verify.ts')).verifyStore(args.dir)),
    }),
    backup: defineCommand({
      meta: { name: 'backup', description: 'Copy the store while it runs' },
      args: { dir, to: { type: 'string', description: 'Directory to write', required: true } },
      setup: strict,
      run: async ({ args }) => finish(await (await import('./eventstore/embedded/backup.ts')).backupStore(args.dir, args.to)),
    }),
    scavenge: defineCommand({
      meta: { name: 'scavenge', description: 'Drop what was deleted or has expired' },
      args: { dir },
      setup: strict,
      run: async ({ args }) => finish(await (await import('./eventstore/embedded/scavenge.ts')).scavengeStore(args.dir)),
    }),
  },
});

const main = defineCommand({
  meta: { name: 'annals', description: 'Run and administer software agents; the log is the truth' },
  subCommands: {
    start: defineCommand({
      meta: { name: 'start', description: 'Run everything on this machine' },
      setup: strict,
      run: async () => {
        // Our children have this very file from the cache too, and need not load what strips types.
        process.env.NODE_COMPILE_CACHE ??= compiled;
        finish(await (await import('./start.ts')).start(await configured()));
      },
    }),
    serve: defineCommand({
      meta: { name: 'serve', description: 'Serve HTTP' },
      setup: strict,
      run: async () => {
        const config = await configured('eventstoreUrl', 'databaseUrl', 'natsUrl');
        const { serve } = await import('./serve.ts');
        await until(() => serve(config));
      },
    }),
    work: defineCommand({
      meta: { name: 'work', description: 'Keep projections and reactors' },
      setup: strict,
      run: async () => {
        const config = await configured('eventstoreUrl', 'databaseUrl', 'natsUrl');
        const { work } = await import('./work.ts');
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
      setup: strict,
      run: async ({ args: { agent, exec, concurrency } }) => {
        const { annalsUrl, annalsKey, annalsData } = await configured('annalsUrl', 'annalsKey');
        const dir = join(annalsData, 'runner');
        const { runner } = await import('./nats/runner.ts');
        finish(await runner({ url: annalsUrl!, key: annalsKey!, agent, exec, dir, concurrency: countOf(concurrency) }));
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
      run: async ({ args }) => {
        const { rebuild } = await import('./operator/rebuild.ts');
        finish(
          await rebuild(await configured(), { projection: args.projection, all: args.all === true, ifEqual: args['if-equal'] === true }),
        );
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
      run: async ({ args: { stream, tenant, from, to } }) => {
        const { replay } = await import('./operator/replay.ts');
        finish(await replay(await configured(), { stream, tenant, from, to }));
      },
    }),
    verify: defineCommand({
      meta: { name: 'verify', description: 'Fold every row again from the log and compare' },
      setup: strict,
      run: async () => finish(await (await import('./operator/verify.ts')).verify(await configured())),
    }),
    doctor: defineCommand({
      meta: { name: 'doctor', description: 'Look at everything the platform stands on and say what to do' },
      setup: strict,
      run: async () => finish(await (await import('./operator/doctor.ts')).doctor(await configured())),
    }),
    demo: defineCommand({
      meta: { name: 'demo', description: 'Start all and send it real deliveries' },
      setup: strict,
      run: async () => finish(await (await import('./demo/demo.ts')).demo(await configured())),
    }),
  },
});

/** The innermost command that the words name, and its parent. */
const named = (words: readonly string[], command: CommandDef = main, parent?: CommandDef): [CommandDef, CommandDef?] => {
  const [word = '', ...rest] = words;
  const inner = (command.subCommands as Record<string, CommandDef> | undefined)?.[word];
  return inner ? named(rest, inner, command) : parent ? [command, parent] : [command];
};

const plain = (text: string, stream: NodeJS.WriteStream): string =>
  stream.isTTY ? text : stripVTControlCharacters(text).replace(/ +$/gm, '');

const showUsage = async (words: readonly string[], stream: NodeJS.WriteStream): Promise<void> =>
  void stream.write(`${plain(await renderUsage(...named(words)), stream)}\n`);

const cli = async (words: string[]): Promise<void> => {
  if (words.some((word) => word === '--help' || word === '-h')) return showUsage(words, process.stdout);
  await runCommand(main, { rawArgs: words });
};

const refuse = async (words: readonly string[], error: unknown): Promise<never> => {
  if (!(error instanceof Error && error.name === 'CLIError')) return fail(error);
  await showUsage(words, process.stderr);
  say(plain(error.message, process.stderr));
  process.exit(EXIT_USAGE);
};

const words = process.argv.slice(2);
await cli(words).catch((error: unknown) => refuse(words, error));
