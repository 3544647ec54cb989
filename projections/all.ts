import { agents } from './agent.ts';
import { allowedAccounts } from './allowed-account.ts';
import { apikeys } from './apikey.ts';
import { audit } from './audit.ts';
import { deliveries } from './delivery.ts';
import { integrations } from './integration.ts';
import { models } from './model.ts';
import type { AnyProjection } from './projection.ts';
import { runnerCredentials } from './runner-credential.ts';
import { tenants } from './tenant.ts';
import { plans } from './tenant-plan.ts';
import { users } from './user.ts';

/** Every projection there is; the worker keeps these. */
export const projections: readonly AnyProjection[] = [
  agents,
  allowedAccounts,
  apikeys,
  audit,
  deliveries,
  integrations,
  models,
  plans,
  runnerCredentials,
  tenants,
  users,
];
