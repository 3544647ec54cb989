import { agents } from './agent.ts';
import { apikeys } from './apikey.ts';
import { audit } from './audit.ts';
import { models } from './model.ts';
import type { Projection } from './projection.ts';
import { tenants } from './tenant.ts';

/** Every projection there is; the worker keeps these. */
export const projections: readonly Projection[] = [agents, apikeys, audit, models, tenants] as unknown as readonly Projection[];
