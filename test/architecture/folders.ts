import { globSync } from 'node:fs';
import { root } from './source-files.ts';

const subfolders = (room: string): string[] =>
  globSync(`${room}/*`, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** The folders of the same name in two rooms or more: so a misspelled folder is no area. */
const areasOf = (rooms: readonly string[]): string[] => {
  const all = rooms.flatMap(subfolders);
  return [...new Set(all.filter((name, index) => all.indexOf(name) !== index))];
};

/** `bodies` has rules only. */
const AREAS = [...areasOf(['domain', 'commands', 'projections', 'api']), 'bodies'];

/** The folders of infra that are not areas: drivers, processes and commands. */
const INFRA_FOLDERS = [
  'aggregates',
  'archives',
  'blobs',
  'cli',
  'cli/api',
  'cli/audit',
  'cli/backup',
  'cli/blobs',
  'cli/deliveries',
  'cli/demo',
  'cli/doctor',
  'cli/projections',
  'cli/sign-in',
  'cli/vault',
  'client',
  'egress',
  'erasure',
  'eventstore',
  'eventstore/embedded',
  'eventstore/embedded/encoding',
  'eventstore/embedded/index',
  'eventstore/embedded/log',
  'eventstore/embedded/rpc',
  'git',
  'health',
  'http',
  'json-schema',
  'logging',
  'mail/message',
  'metrics',
  'nats',
  'oauth',
  'oidc',
  'packages',
  'payments',
  'platform',
  'postgres',
  'processes',
  'projector',
  'ratelimit',
  'reactors',
  'readmodel',
  'refusals',
  'relay',
  'rotation',
  'runner',
  'spool',
  'supervision',
  'threads',
  'vault',
];

/** The folders that each top-level source folder ('room') may have. A new driver in infra must be listed; an area need not. */
export const FOLDERS: Record<string, string[]> = {
  domain: [...AREAS, 'integrations/conventions', 'integrations/providers'],
  commands: AREAS,
  projections: [...AREAS, 'engine'],
  api: [...AREAS, 'http', 'console', 'console/parts', 'console/browser', 'console/forms', ...AREAS.map((area) => `${area}/console`)],
  infra: [...AREAS, ...INFRA_FOLDERS],
  test: [
    ...AREAS,
    ...INFRA_FOLDERS,
    'architecture',
    'bench',
    'console',
    'faults',
    'fixtures',
    'fixtures/runner-files',
    'http',
    'live',
    'live/secrets',
    'mutants',
    'promises',
    'store',
    'mail/corpus',
    'two-tenants',
  ],
};
