import type { Context } from 'hono';
import type { Logger } from 'pino';
import type { OperationServices } from '../../api/area.ts';
import type { ReadHealth } from '../../api/operations/health.ts';
import type { SystemDeps } from '../../api/operations/system-routes.ts';
import type { ScanPorts } from '../../commands/files/scan-file.ts';
import type { FileHost } from '../../commands/memory/import-memory.ts';
import type { Reads } from '../../projections/read-model.ts';
import type { AggregateCache } from '../aggregates/aggregate-cache.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { CountWebhook } from '../deliveries/record-delivery.ts';
import type { WebhookDeps } from '../deliveries/webhook-ports.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { SignInMethods } from '../oidc/sign-in.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import type { CpuBudgets } from '../threads/cpu-budget.ts';
import type { Vault } from '../vault/vault.ts';

/** Where the platform keeps its data, and the settings and the clock that everything uses. */
type Basis = {
  readonly log: Log;
  readonly cache: AggregateCache;
  readonly vault: Vault;
  readonly reads: Reads;
  readonly blobs: BlobStore;
  readonly logger: Logger;
  readonly publicUrl: string;
  /** Null if the client is unknown. */
  readonly address: (c: Context) => string | null;
  readonly corsOrigins?: readonly string[] | undefined;
  /** In Unix milliseconds. */
  readonly now?: () => number;
};

/** Where one is absent, requests are not limited, or each process counts alone. */
type Limits = {
  readonly limits?: RateLimiter | undefined;
  readonly budgets?: CpuBudgets | undefined;
  /** The windows in which guardrails count deliveries. */
  readonly windows?: SlidingWindows;
};

/** Tests replace these services. */
type Providers = Pick<
  OperationServices,
  'codeHost' | 'datasets' | 'payments' | 'testDatabase' | 'oauth' | 'createBrokerUser' | 'runnerBroker' | 'drafts'
> & {
  readonly files: FileHost;
  /** Null if there is no virus scanner. */
  readonly findVirus: ScanPorts['findVirus'];
  /** The secrets with which the payment provider signs its webhook calls. */
  readonly paymentSecrets: readonly string[];
  /** If absent, callers authenticate by API key only. */
  readonly signIn?: SignInMethods;
};

export type SelfReport = Pick<SystemDeps, 'readiness' | 'metrics' | 'mayReadMetrics'> & { readonly readHealth: ReadHealth };

/** Callbacks about what happens, for metrics. */
type Observers = {
  readonly onResponse?: ((c: Context, status: number, milliseconds: number) => void) | undefined;
  readonly onDelivery?: CountWebhook;
};

export type PlatformServices = Basis &
  Limits &
  Providers &
  Observers &
  Pick<OperationServices, 'projectionAdmin' | 'mail'> & {
    /** Stores deliveries while the log cannot be reached. If it is absent, such deliveries are refused. */
    readonly spool?: WebhookDeps['spool'];
    /** `isFailing`: whether the last append of a delivery failed. */
    readonly reportOn: (isFailing: () => boolean) => SelfReport;
  };
