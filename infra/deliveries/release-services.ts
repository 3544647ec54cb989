import type { Logger } from 'pino';
import * as Agent from '../../domain/agents/agent.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import type { SlidingWindows } from '../ratelimit/sliding-windows.ts';
import type { LazyVault } from '../vault/lazy-vault.ts';
import { guardrailPort } from './guardrail-port.ts';
import { readDelivery } from './read-delivery.ts';
import { releasePorts } from './release-ports.ts';

type ReleaseServiceParts = {
  readonly log: Log;
  readonly logger: Logger;
  readonly vault: Pick<LazyVault, 'open'>;
  readonly windows: SlidingWindows;
};

const FOLLOWED = [Agent, Integration, RedactionPatterns, SlackConfig, TenantGuardrails];

const openReleases = async ({ log, logger, vault: lazyVault, windows }: ReleaseServiceParts) => {
  const vault = await lazyVault.open();
  const cache = openAggregateCache(log, FOLLOWED, { cacheAbsent: FOLLOWED });
  await cache.start();
  const guardrails = guardrailPort({ cache, logger, windows, hasHeld: async () => false });
  const close = async (): Promise<void> => {
    await guardrails.close();
    await cache.close();
  };
  const ports = releasePorts({ log, vault, cache, guardrails, readDelivery: readDelivery({ log, vault, logger }) });
  return { ports: { ...ports, guardrails }, close };
};

/** Opens the services at their first use, so that they cost nothing while no delivery is blocked or held. */
export const createReleaseServices = (parts: ReleaseServiceParts) => {
  let opened: ReturnType<typeof openReleases> | undefined;
  const open = openOnce(() => (opened = openReleases(parts)));
  return {
    releases: async () => (await open()).ports,
    close: async (): Promise<void> => (await opened?.catch(() => undefined))?.close(),
  };
};
