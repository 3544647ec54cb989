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

/**
 * Aggregates that frequent requests read without appending to them. One subscription keeps their cached states up to
 * date.
 */
const followed = [Agent, AllowedAccount, ApiKey, Integration, Model, Plan, SignIn, Tenant, User];

/**
 * For these aggregates, the cache also remembers that one does not exist: every request with a token looks up its user.
 * The number of such entries is bounded, because this look-up needs a valid token of the issuer. A caller who guesses
 * does not reach it.
 */
const cacheAbsent = [AllowedAccount, User];

export const openApplicationCache = (log: Log): AggregateCache => openAggregateCache(log, followed, { cacheAbsent });
