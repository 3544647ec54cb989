import { VARIABLE_ROWS } from '../variable-descriptions.ts';
import type { ServiceName } from './systemd-unit.ts';

const NAME_WIDTH = 20;

const OF_BOTH = [
  'ANNALS_DATA',
  'PORT',
  'HOST',
  'PUBLIC_URL',
  'EVENTSTORE_URL',
  'DATABASE_URL',
  'NATS_URL',
  'NATS_ACCOUNT_SEED',
  'NATS_RUNNER_ACCOUNT_SEED',
  'BLOBS_URL',
  'MASTER_KEY_FILE',
  'EGRESS_ALLOW',
  'OAUTH_<PROVIDER>_CLIENT_ID',
  'OAUTH_<PROVIDER>_CLIENT_SECRET',
  'MAIL_DOMAIN',
  'SMTP_URL',
] as const;
const LOGGING_AND_METRICS = ['LOG_LEVEL', 'METRICS_TOKEN', 'TRUSTED_PROXIES'] as const;
const OF_SERVE = [
  'ANNALS_ADMIN_KEY',
  'CORS_ORIGINS',
  'GIT_TOKEN_<HOST>',
  'OIDC_ISSUER',
  'OIDC_AUDIENCE',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_TRUST_EMAIL',
  'CLAMAV_URL',
  'SMTP_LISTEN',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
];
const OF_WORK = ['METRICS_PORT', 'METRICS_HOST', 'AUDIT_ANCHOR_URL'];

/** `start` passes its environment on to `serve` and `work`. */
export const VARIABLES_OF: Readonly<Record<ServiceName, readonly string[]>> = {
  start: [...OF_BOTH, ...OF_SERVE, ...LOGGING_AND_METRICS, ...OF_WORK],
  serve: [...OF_BOTH, ...OF_SERVE, ...LOGGING_AND_METRICS],
  work: [...OF_BOTH, ...LOGGING_AND_METRICS, ...OF_WORK],
};

/** Removes Markdown marks, and references to pages of the documentation. */
const plain = (text: string): string => text.replace(/`|\*\*/g, '').replace(/ \(see \[[^\]]*\]\([^)]*\)\)/g, '');

const describedVariables = (): Map<string, string> =>
  new Map(
    VARIABLE_ROWS.flatMap(({ names, meaning, initial = [] }) =>
      names.map((name, index) => {
        const value = initial[index];
        return [name, `${plain(meaning)}${value === undefined ? '' : ` (default: ${plain(value)})`}`] as const;
      }),
    ),
  );

export const variableHelp = (service: ServiceName): string => {
  const described = describedVariables();
  const lines = VARIABLES_OF[service].map((name) => `  ${name.padEnd(NAME_WIDTH)} ${described.get(name) ?? ''}`.trimEnd());
  return ['ENVIRONMENT VARIABLES', '', ...lines, ''].join('\n');
};
