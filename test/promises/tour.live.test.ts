// limit: 480 s for this file (test/run.ts)
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { is, match, not, ok } from 'uvu/assert';
import { MAX_HEAD_ENTRIES } from '../../domain/audit/audit-head.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Platform, sharedPlatform, withPlatform } from '../faults/platform.ts';
import { platformProcesses } from '../faults/platform-processes.ts';
import { expectReply } from '../faults/running-platform.ts';
import { eventually, mainFile, type Program, root, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { blocksOf, commandOf, documentation } from '../fixtures/documents.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';
import { tourDefinitions, tourScript } from './tour-script.ts';

const onPlatform = sharedPlatform();

const createSuperAdminKey = async (data: string): Promise<string> => {
  const running = startProgram(process.execPath, [mainFile, 'keys', 'create', '--super-admin'], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data },
  });
  is(await running.ended, 0, running.output());
  return /ann_\w+/.exec(running.output())![0];
};

const keys = new Map<string, Promise<string>>();

/** Returns a key of a super-admin, as a reader of the documentation gets one. All tests on a platform use the same. */
const superAdminKey = ({ data }: Platform): Promise<string> => {
  const key = keys.get(data) ?? createSuperAdminKey(data);
  keys.set(data, key);
  return key;
};

/** Starts a shell that runs these commands and ends at the first one that fails. */
const startScript = (shell: string, commands: string, dir: string, env: NodeJS.ProcessEnv, cwd = root): Program => {
  const file = join(dir, 'commands');
  writeFileSync(file, commands);
  return startProgram(shell, [...(shell === 'zsh' ? ['-f'] : ['--norc']), '-e', file], {
    cwd,
    env: { ...unconfiguredEnvironment(), PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`, NO_COLOR: '1', ...env },
  });
};

const runTour = async (shell: string, platform: Platform): Promise<void> => {
  // A reader takes longer than a script to open the second terminal: by then, the read models show the first tenant.
  await platform.firstTenant();
  const variables = { ANNALS_URL: platform.url, ANNALS_KEY: await superAdminKey(platform) };
  const running = startScript(shell, tourScript(shell, platform.data), platform.data, variables);
  is(await running.ended, 0, running.output());
  const output = running.output();
  const seen = [/"slug":"demo"/, /^etag: /m, /"secret":"/, /^export ANNALS_URL=\S+ ANNALS_KEY=ann_\w+$/m];
  const answers = [/accepted.* 202$/m, /duplicate.* 200$/m, /unauthorized.* 401$/m, /"outcome":"rejected"/, /"action":"webhook\.rejected"/];
  const members = [/"name":"Invitation".*"key":"ann_\w+"/, /"name":"Dashboard".*"read_only":true/];
  const runner = [/"specversion":"1\.0".*Keep it logically awesome/];
  for (const pattern of [...seen, ...answers, ...members, ...runner]) match(output, pattern);
  not.match(output, /not found|no matches|SyntaxError|undefined/);
};

for (const shell of ['zsh', 'bash']) {
  if (spawnSync(shell, ['-c', 'true']).status !== 0) {
    console.log(`${shell} is not installed: its run of the tour is skipped`);
    continue;
  }
  const use = shell === 'bash' ? onPlatform : withPlatform;
  test(`the commands of the tour work in ${shell} exactly as they are printed`, () => use((platform) => runTour(shell, platform)));
}

test('the commands of README.md send a delivery to a runner', () =>
  onPlatform(async (platform) => {
    await platform.firstTenant();
    const variables = { ANNALS_URL: platform.url, ANNALS_KEY: await superAdminKey(platform) };
    const running = startScript('bash', blocksOf('A webhook in one minute').join('\n'), platform.data, variables);
    is(await running.ended, 0, running.output());
    for (const pattern of [/^accepted c\w+$/m, /"specversion":"1\.0".*"providerevent":"push"/]) match(running.output(), pattern);
  }));

/** Posts a form with one file. @returns the parsed body of the response */
const postFile = async <T>({ url }: Platform, key: string, path: string, field: string, file: File): Promise<T> => {
  const body = new FormData();
  body.set(field, file);
  const response = await fetch(url + path, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body });
  ok(response.ok, `${path}: ${response.status}`);
  return (await response.json()) as T;
};

test('the commands with which a runner reads what people gave its agent work as they are printed', () =>
  onPlatform(async (platform) => {
    const tenant = (await platform.firstTenant()).id;
    const key = await superAdminKey(platform);
    const create = async (path: string, body: object): Promise<{ id: string; key: string }> =>
      expectReply(platform.call('POST', `/tenant/${tenant}/${path}`, body, { key }));
    const agent = (await create('agents', { name: 'Reader of files', slug: 'reader-of-files' })).id;
    const archive = Buffer.from(skillArchive('notes'));
    const skill = await postFile<{ id: string }>(platform, key, `/tenant/${tenant}/skills/import`, 'upload', new File([archive], 'a.zip'));
    await create(`agents/${agent}/skills`, { skill_id: skill.id });
    const memory = `/tenant/${tenant}/agents/${agent}/memory`;
    await postFile(platform, key, `${memory}/import`, 'file', new File(['How we release'], 'notes.txt'));
    await eventually('the memory is imported', async () =>
      (await platform.call('GET', memory, undefined, { key })).text.includes('release'),
    );
    const runner = await create(`agents/${agent}/runner-keys`, { name: 'runner' });
    const variables = { TENANT: tenant, AGENT: agent, SKILL: skill.id, ANNALS_URL: platform.url, ANNALS_KEY: runner.key };
    const running = startScript('bash', blocksOf('Read with curl').join('\n'), platform.data, variables, platform.dir);
    is(await running.ended, 0, running.output());
    for (const pattern of [/"memory":\{"entries":1,/, /"text":"How we release"/]) match(running.output(), pattern);
    ok(readFileSync(join(platform.dir, 'skill.zip')).equals(archive));
  }));

test('the commands that give an agent a credential of the tenant work as they are printed', () =>
  onPlatform(async (platform) => {
    const tenant = (await platform.firstTenant()).id;
    const key = await superAdminKey(platform);
    const agents = `/tenant/${tenant}/agents`;
    const { id: agent } = await expectReply<{ id: string }>(platform.call('POST', agents, { name: 'Reporter', slug: 'reporter' }, { key }));
    const variables = { TENANT: tenant, AGENT: agent, ANNALS_URL: platform.url, ANNALS_KEY: key };
    const commands = blocksOf('Give an agent a credential of the tenant').join('\n');
    const running = startScript('bash', commands, platform.data, variables, platform.dir);
    is(await running.ended, 0, running.output());
    match(running.output(), /\[\{"identity_id":"c\w+","provider":"db:postgres:db\.example\.com"/);
    const keys = platform.call('POST', `${agents}/${agent}/runner-keys`, { name: 'runner' }, { key });
    const runner = await expectReply<{ key: string }>(keys);
    const { text } = await platform.call('GET', `${agents}/${agent}/runtime`, undefined, { key: runner.key });
    match(text, /"url":"postgresql:\/\/reporting:p%40ss%2Fword@db\.example\.com:5432\/orders\?sslmode=require"/);
  }));

/** Makes a directory look like the checkout whose platform has this data directory. */
const linkCheckout = (dir: string, data: string): void => {
  for (const name of ['infra', 'node_modules', 'package.json']) symlinkSync(join(root, name), join(dir, name));
  symlinkSync(data, join(dir, '.annals'));
};

/** The command of the block about backups that starts the restored platform, and so does not end. */
const START_RESTORED = ' && ANNALS_DATA=restored npm start\n';
/** A file that shows the state of the tenant, so that the state of the restored platform can be compared with it. */
const stateTo = (file: string): string =>
  `get -f "$ANNALS_URL/tenant/$TENANT/deliveries" > ${file}; get -f "$ANNALS_URL/tenant/$TENANT/agents" >> ${file}\n`;

/** Returns a command that begins with `node` as commands that run it with each Node.js on the PATH, also with older ones. */
const withEachNode = (command: string): string =>
  `for NODE in $(type -ap node | sort -u); do "$NODE" --version; "$NODE" ${command.slice('node '.length)}; done`;

/** Returns the commands of the documentation about the export and the backup of a platform, in the order in which a reader needs them. */
const afterTourScript = (): string => {
  const proofs = 'Audit proofs and export';
  const backup = blocksOf('Backup and restore').find((commands) => commands.includes('annals backup'))!;
  is(backup.endsWith(START_RESTORED), true, 'the block about backups ends with the start of the restored platform');
  return [
    tourDefinitions(),
    'annals verify',
    `${commandOf(proofs, 'annals export --to')} ${commandOf(proofs, '--wait')}`,
    commandOf(proofs, 'annals verify --audit'),
    'cp infra/audit/verify-audit-export.mjs .',
    withEachNode(commandOf(proofs, 'node verify-audit-export.mjs')),
    commandOf('Inspect an export', 'ANNALS_DATA=/tmp/inspection annals import').replace('/tmp/', ''),
    stateTo('before'),
    backup.slice(0, -START_RESTORED.length),
  ].join('\n');
};

/**
 * Appends as many entries to the tenant's audit log as one head covers. So a head that covers the newest entry is due at
 * once, and `annals export --wait` need not wait for minutes.
 */
const makeHeadDue = async (platform: Platform): Promise<void> => {
  const { id } = await platform.firstTenant();
  const meta = { tenant: id, actor: { kind: 'system', id: 'test' }, at: new Date().toISOString(), v: 1 } as const;
  const log = platform.openLog();
  const entries = Array.from({ length: MAX_HEAD_ENTRIES }, (_, n) => ({
    ...{ id: randomUUID(), type: 'SuperAdminRead', data: { what: `GET /${n}` }, meta },
  }));
  await log.append(`visit-${id}.tour`, 'none', entries);
  await log.close();
};

/** Starts the platform that was restored in this directory. Resolves when it is ready. */
const startRestored = async (dir: string, port: number): Promise<Program> => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: 'restored', PORT: String(port), NO_COLOR: '1' };
  const started = startProgram('npm', ['start'], { cwd: dir, env });
  await started.waitForOutput(/^ready http/m);
  return started;
};

test('after the tour, verify, export, verification, import and backup succeed, and the restored platform has the same data', () =>
  onPlatform(async (platform) => {
    const { dir, data } = platform;
    linkCheckout(dir, data);
    await makeHeadDue(platform);
    const variables = { ANNALS_URL: platform.url, ANNALS_KEY: await superAdminKey(platform) };
    const commands = startScript('bash', afterTourScript(), dir, variables, dir);
    is(await commands.ended, 0, commands.output());
    for (const pattern of [/every row is what the log yields/, /for inspection/, /^restored: start the platform$/m])
      match(commands.output(), pattern);
    await platform.stop();
    const port = await freePort();
    const restored = await startRestored(dir, port);
    try {
      const check = `${tourDefinitions()}ANNALS_DATA=restored annals verify\n${stateTo('after')}diff before after\n`;
      await eventually('the read models are built and have the same rows', async () => {
        const checked = startScript('bash', check, dir, { ...variables, ANNALS_URL: `http://127.0.0.1:${port}` }, dir);
        const code = await checked.ended;
        not.match(checked.output(), /FAIL/);
        return code === 0;
      });
    } finally {
      await restored.stop();
      await platformProcesses(join(dir, 'restored')).endRemainingProcesses();
    }
  }));

test('the commands of the documentation contain no comments and no unquoted wildcards, so that they also work when they are pasted into zsh', () => {
  for (const [, commands] of documentation.matchAll(/^```sh\n(.*?)^```$/gms)) {
    // In an interactive zsh, # does not start a comment, and an unquoted word with ?, * or [ is treated as a file
    // pattern.
    const unquoted = commands!.replace(/'[^']*'|"(?:[^"\\]|\\.)*"/gs, '""');
    const [found] = /(^|\s)#.*|\S*[?*[]\S*/m.exec(unquoted) ?? [];
    is(found, undefined, commands);
  }
});

test.run();
