import * as Agent from '../../domain/agents/agent.ts';
import * as Model from '../../domain/agents/model.ts';
import * as Plan from '../../domain/billing/plan.ts';
import * as AllowedAccount from '../../domain/identity/allowed-account.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import { type AggregateCache, openAggregateCache } from '../aggregates/aggregate-cache.ts';
import type { Log } from '../eventstore/event-log.ts';

/** Aggregates that the hot path reads without appending. One subscription keeps their cached states up to date. */
const followed = [Agent, AllowedAccount, ApiKey, Integration, Model, Plan, SignIn, Tenant, User];

/**
 * The cache also remembers that one of these does not exist: a request with a token looks up its user each time. This is bounded, because
 * only the issuer's users reach this look-up, not a caller who guesses.
 */
const cacheAbsent = [AllowedAccount, User];

export const openApplicationCache = (log: Log): AggregateCache => openAggregateCache(log, followed, { cacheAbsent });
