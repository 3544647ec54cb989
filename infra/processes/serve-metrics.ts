import type { Config } from '../config.ts';
import { createRequestLog } from '../http/request-log.ts';
import { createRequestObserver } from '../http/request-observer.ts';
import { createRequestLogger } from '../logging/logger.ts';
import type { SmtpReceiver } from '../mail/smtp-receiver.ts';
import { countWebhooks } from '../metrics/delivery-metrics.ts';
import { addMailMetrics } from '../metrics/mail-metrics.ts';
import { createProcessMetrics } from '../metrics/process-metrics.ts';
import { createCounter } from '../metrics/series.ts';
import { addDependencyMetrics, type DependencyChecks, measureAppends } from '../metrics/service-metrics.ts';
import { addSpoolMetrics, countDrained } from '../metrics/spool-metrics.ts';
import type { OnRefused } from '../ratelimit/limiter.ts';
import { loadMasterKey } from '../vault/master-key.ts';
import type { Vault } from '../vault/vault.ts';
import { memoizeFor } from './readiness.ts';

const MASTER_KEY_TTL_MS = 30_000;

type SpoolState = DropFirst<Parameters<typeof addSpoolMetrics>>;
type DropFirst<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

const holdsKey = (file: string, ids: readonly string[]): Promise<boolean> =>
  loadMasterKey(file, false).then(
    ({ kid }) => ids.includes(kid),
    () => false,
  );

/**
 * Creates the metrics of the process `serve`, and the functions with which its parts report measurements. `addServices`
 * adds the metrics that need open connections.
 */
export const createServeMetrics = (config: Pick<Config, 'logLevel' | 'masterKeyFile'>) => {
  const metrics = createProcessMetrics('serve');
  const { registry } = metrics;
  const refusals = createCounter<'policy'>(registry, {
    name: 'annals_rate_limit_refusals_total',
    help: 'Requests that were refused with 429, by the limit: credential, tenant, platform, webhooks (of the plan), bad-credentials, checks (processor time)',
  });
  const credentials = createCounter(registry, {
    name: 'annals_runner_credentials_issued_total',
    help: 'NATS credentials that were issued to runners; each is valid for at most an hour',
  })({});
  const requestLog = createRequestLog(createRequestLogger(config, 'serve'));
  const onRefused: OnRefused = ({ name }) => refusals({ policy: name }).add();
  return {
    text: metrics.text,
    onAppend: measureAppends(metrics),
    ...createRequestObserver(registry, requestLog.ofKind),
    onRateLimited: onRefused,
    onCheckRefused: (): void => refusals({ policy: 'checks' }).add(),
    onCredentialIssued: (): void => credentials.add(),
    countWebhook: countWebhooks(metrics),
    onDrained: countDrained(metrics),
    addMail: (status: SmtpReceiver['status']): void => addMailMetrics(metrics, status),
    addSpool: (...state: SpoolState): void => addSpoolMetrics(metrics, ...state),
    close: requestLog.close,
    addServices: (checks: DependencyChecks, { masterKeyIds }: Pick<Vault, 'masterKeyIds'>): void => {
      addDependencyMetrics(metrics, checks);
      const isReadable = memoizeFor(MASTER_KEY_TTL_MS, () => holdsKey(config.masterKeyFile, masterKeyIds()));
      metrics.addGroup({
        help: { annals_master_key_readable: 'Whether MASTER_KEY_FILE holds a key that opens this log (1) or not (0)' },
        read: async () => [{ labels: {}, values: { annals_master_key_readable: (await isReadable()) ? 1 : 0 } }],
      });
    },
  };
};
