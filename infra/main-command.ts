import { defineCommand } from 'citty';
import { apiCommand } from './cli/api/api-command.ts';
import { isWebUrl, JSON_OPTION, rejectUnknownArguments, usageError } from './cli/arguments.ts';
import { auditCommand } from './cli/audit/audit-commands.ts';
import { exportCommand, importCommand } from './cli/audit/export-command.ts';
import { backupCommand, restoreCommand } from './cli/backup/backup-commands.ts';
import { storeCommand } from './cli/backup/store-commands.ts';
import { blobsCommand } from './cli/blobs/blob-commands.ts';
import { readConfig, runOnPlatform, runService } from './cli/command-runs.ts';
import { cronCommand } from './cli/cron-command.ts';
import { deliveriesCommand, redriveCommand } from './cli/deliveries/delivery-commands.ts';
import { triggerCommand } from './cli/deliveries/trigger-command.ts';
import { verifyCommand } from './cli/projections/verify-command.ts';
import { runnerCommand } from './cli/runner-command.ts';
import { keysCommand } from './cli/sign-in/key-commands.ts';
import { loginCommand } from './cli/sign-in/login-command.ts';
import { SERVICES } from './cli/systemd-unit.ts';
import { vaultCommand } from './cli/vault/vault-commands.ts';
import { finish } from './processes/exit.ts';
import { becomeLean } from './processes/lean-process.ts';
import { runFromCopy } from './processes/program-copy.ts';

const BOUND_FORMS = 'a position (4711:4711, as in Consistency-Token) or a time (2026-11-21T10:00:00Z)';

export const mainCommand = defineCommand({
  meta: { name: 'annals', description: 'Run and administer software agents' },
  subCommands: {
    start: defineCommand({
      meta: { name: 'start', description: 'Run the whole platform on this machine' },
      setup: rejectUnknownArguments,
      run: async () => {
        const { annalsData, host, port, publicUrl, eventstoreUrl, databaseUrl, ...config } = await readConfig();
        const { natsUrl, natsAccountSeed, natsRunnerAccountSeed } = config;
        const broker = { natsUrl, natsAccountSeed, natsRunnerAccountSeed };
        const options = { annalsData, host, port, publicUrl, eventstoreUrl, databaseUrl, ...broker };
        await becomeLean({ command: 'start', options });
      },
    }),
    serve: defineCommand({
      meta: { name: 'serve', description: 'Serve the HTTP API' },
      setup: rejectUnknownArguments,
      run: async () => {
        runFromCopy();
        const config = await readConfig('eventstoreUrl', 'databaseUrl', 'natsUrl');
        const { serve } = await import('./processes/serve.ts');
        await runService(() => serve(config));
      },
    }),
    work: defineCommand({
      meta: { name: 'work', description: 'Run the projections and the reactors' },
      setup: rejectUnknownArguments,
      run: async () => {
        runFromCopy();
        const config = await readConfig('eventstoreUrl', 'databaseUrl', 'natsUrl');
        const { work } = await import('./processes/work.ts');
        await runService(() => work(config));
      },
    }),
    runner: runnerCommand((options) => becomeLean({ command: 'runner', options })),
    store: storeCommand,
    blobs: blobsCommand,
    backup: backupCommand,
    restore: restoreCommand,
    keys: keysCommand,
    login: loginCommand,
    audit: auditCommand,
    vault: vaultCommand,
    deliveries: deliveriesCommand,
    cron: cronCommand,
    trigger: triggerCommand,
    api: apiCommand,
    redrive: redriveCommand,
    rebuild: defineCommand({
      meta: { name: 'rebuild', description: 'Build the rows of a projection again from the log, then replace the current ones' },
      args: {
        projection: { type: 'positional', description: 'Name of the projection', required: false },
        all: { type: 'boolean', description: 'Rebuild every projection, one after the other' },
        'if-equal': { type: 'boolean', description: 'Replace the current rows only if the new ones are equal' },
        json: JSON_OPTION,
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { rebuild } = await import('./cli/projections/rebuild-projections.ts');
        const options = {
          projection: args.projection,
          all: args.all === true,
          ifEqual: args['if-equal'] === true,
          json: args.json === true,
        };
        await runOnPlatform((config) => rebuild(config, options));
      },
    }),
    replay: defineCommand({
      meta: { name: 'replay', description: 'Print events as JSON lines' },
      args: {
        stream: { type: 'positional', description: 'Name of one stream (default: the whole log)', required: false },
        tenant: { type: 'string', description: 'Only events of this tenant' },
        type: { type: 'string', description: 'Only events of this type' },
        from: { type: 'string', description: `Only events from here on: ${BOUND_FORMS}` },
        to: { type: 'string', description: `Only events up to here: ${BOUND_FORMS}` },
        at: { type: 'string', description: `Only what had happened by then: ${BOUND_FORMS}` },
        limit: { type: 'string', description: 'Print at most this many events' },
        reverse: { type: 'boolean', description: 'Print the newest events first' },
        follow: { type: 'boolean', description: 'Continue with new events until Ctrl-C' },
        pretty: { type: 'boolean', description: 'Print each event indented on several lines' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { replay } = await import('./cli/print-events.ts');
        const options = { ...args, reverse: args.reverse === true, follow: args.follow === true, pretty: args.pretty === true };
        await runOnPlatform((config) => replay(config, options));
      },
    }),
    verify: verifyCommand,
    export: exportCommand,
    import: importCommand,
    doctor: defineCommand({
      meta: { name: 'doctor', description: 'Check every service and setting, and suggest fixes' },
      args: { json: JSON_OPTION },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { doctor } = await import('./cli/doctor/doctor.ts');
        await finish(await doctor(await readConfig(), { json: args.json === true }));
      },
    }),
    unit: defineCommand({
      meta: { name: 'unit', description: 'Print a systemd unit that runs this installation' },
      args: { service: { type: 'string', description: 'The command to run: start, serve or work', default: 'start' } },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { systemdUnit } = await import('./cli/systemd-unit.ts');
        const service = SERVICES.find((name) => name === args.service);
        if (!service) throw usageError(`--service must be one of ${SERVICES.join(', ')}`);
        process.stdout.write(systemdUnit(service, (await readConfig()).annalsData));
        await finish(0);
      },
    }),
    demo: defineCommand({
      meta: { name: 'demo', description: 'Start a separate platform and send it real webhook deliveries' },
      args: {
        on: { type: 'string', description: 'URL of a running platform to use instead, with ANNALS_KEY; what the demo creates is deleted' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args: { on } }) => {
        if (on !== undefined && !isWebUrl(on)) throw usageError('--on must be a URL that begins with http:// or https://');
        runFromCopy();
        const { demo } = await import('./cli/demo/demo.ts');
        await finish(await demo(await readConfig(...(on === undefined ? [] : (['annalsKey'] as const))), on));
      },
    }),
  },
});
