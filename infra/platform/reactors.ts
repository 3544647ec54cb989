import type { NatsConnection } from 'nats';
import { headAnchoring } from '../audit/anchor-audit-heads.ts';
import { headSignatures } from '../audit/sign-audit-heads.ts';
import { benchmarkRunner } from '../benchmarks/benchmark-runs.ts';
import { usageCounting } from '../billing/count-usage.ts';
import { heldReleases } from '../deliveries/release-held.ts';
import { replays } from '../deliveries/replay-deliveries.ts';
import { erasures } from '../erasure/erase-tenants.ts';
import { mailDeliveries } from '../mail/deliver-mail.ts';
import { mailboxProvisioning } from '../mail/provision-mailboxes.ts';
import { memoryImports } from '../memory/import-memory.ts';
import { renewals } from '../oauth/renew-tokens.ts';
import type { Reactor } from '../reactors/reactor.ts';
import { rotations } from '../rotation/finish-rotations.ts';
import { credentialRevocations } from '../runners/revoke-runner-credentials.ts';
import { targetCalls } from '../schedule/call-targets.ts';
import { agentMessages } from '../schedule/message-agents.ts';
import { scheduler } from '../schedule/scheduler.ts';
import { expiries } from '../sessions/expire-sessions.ts';
import { skillWebhookHiding } from '../skill-calls/hide-skill-webhooks.ts';
import { closings } from '../tenants/close-tenants.ts';
import type { WorkServices } from './work-services.ts';

/** The reactors of all areas, except those in `relay/messaging.ts`, which need each other. */
export const reactors: readonly Reactor<WorkServices>[] = [
  closings,
  expiries,
  scheduler,
  replays,
  heldReleases,
  targetCalls,
  agentMessages,
  renewals,
  headSignatures,
  headAnchoring,
  rotations,
  memoryImports,
  mailDeliveries,
  erasures,
  skillWebhookHiding,
  usageCounting,
  mailboxProvisioning,
];

/** They are started when the broker is connected for the first time. */
export const brokerReactors: readonly Reactor<WorkServices & { readonly nats: NatsConnection }>[] = [
  benchmarkRunner,
  credentialRevocations,
];
