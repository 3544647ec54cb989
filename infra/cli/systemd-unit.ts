import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { sourceFile } from '../program.ts';

export const SERVICES = ['start', 'serve', 'work'] as const;
export type ServiceName = (typeof SERVICES)[number];

const DESCRIPTIONS: Readonly<Record<ServiceName, string>> = {
  start: 'Annals, the whole platform',
  serve: 'Annals, the HTTP API',
  work: 'Annals, projections and reactors',
};

/** The file from which the service reads further variables. It may be absent. */
const ENVIRONMENT_FILE = '/etc/annals.env';

/** systemd replaces specifiers such as `%h` in all settings. */
const escaped = (text: string): string => text.replaceAll('%', '%%');

const quoted = (text: string): string => `"${escaped(text).replace(/["\\]/g, '\\$&')}"`;

/** systemd also replaces variables in a command line, so `$` is escaped, too. */
const argument = (text: string): string => quoted(text).replaceAll('$', '$$$$');

/**
 * Returns a systemd unit that runs this checkout with its own Node as the current user. `dataDirectory` must be an
 * absolute path. Only the main process gets the stop signal, and stops its other processes in the right order.
 */
export const systemdUnit = (service: ServiceName, dataDirectory: string): string => {
  const main = sourceFile('infra/main.ts');
  return `[Unit]
Description=${DESCRIPTIONS[service]}
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User=${userInfo().username}
WorkingDirectory=${escaped(dirname(dirname(main)))}
Environment=${quoted(`ANNALS_DATA=${dataDirectory}`)}
EnvironmentFile=-${ENVIRONMENT_FILE}
ExecStart=${argument(process.execPath)} ${argument(main)} ${service}
KillMode=mixed
TimeoutStopSec=60
Restart=on-failure
RestartSec=5
LimitNOFILE=65536
UMask=0077
NoNewPrivileges=true

[Install]
WantedBy=multi-user.target
`;
};
