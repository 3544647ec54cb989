import { type Position, parseToken } from '../domain/event.ts';
import { invalid } from '../domain/refusal.ts';
import { Instant } from '../domain/text.ts';
import { positionAt } from '../projections/audit.queries.ts';
import { audit } from '../projections/audit.ts';
import type { Reads } from '../projections/reads.ts';

/** Times are found in the audit log: a token has to have come that far. */
export const AS_OF_RESTS = audit.name;

/** Before everything. */
const NEVER: Position = { commit: 0n, prepare: 0n };

/** What `as_of` names: a token as it is, a time as the tenant's last event until then. @throws Refusal invalid */
export const positionOf = async (reads: Reads, tenant: string, text: string, name = 'as_of'): Promise<Position> => {
  const given = parseToken(text);
  if (given) return given;
  if (!Instant.safeParse(text).success)
    throw invalid(`/query/${name}`, 'must be an RFC 3339 date-time or a Consistency-Token', 'bad_as_of');
  const found = await positionAt(reads, tenant, new Date(text).toISOString());
  return (found && parseToken(found)) || NEVER;
};
