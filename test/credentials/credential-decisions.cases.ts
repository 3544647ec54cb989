import fc from 'fast-check';
import * as CredentialRequest from '../../domain/credentials/credential-request.ts';
import * as IdentityLink from '../../domain/credentials/identity-link.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { repeated } from '../fixtures/repeated-decisions.ts';

const FOREVER = '2099-01-01T00:00:00.000Z';
const requested = { agent_id: 'a1', skill_id: 's1', config_key: 'token', prompt: 'A token', expires_at: FOREVER };
const access = { host: 'db.example.com', port: 5432, database: 'd', username: 'u', sslmode: 'require' } as const;
const tokens = { scopes: [], expires_at: FOREVER, refreshable: true } as const;
const digest = '0'.repeat(64);
const link = { tenant_id: 't1', agent_id: null, provider: 'github', state_digest: digest, browser_digest: digest };
const linked = { agent_id: null, provider: 'github', label: 'GitHub', ...tokens };

const decisions: AreaCases['decisions'] = [
  repeated(CredentialRequest, [], {
    'credentials/credential-request.ts request': fc.constant(CredentialRequest.request(requested)),
    'credentials/credential-request.ts fulfil': fc.constantFrom(1, 2).map((revision) => CredentialRequest.fulfil(revision)),
  }),
  repeated(LinkedIdentity, [{ type: 'IdentityLinked', data: { ...linked, sealed_tokens: 'first' } }], {
    'credentials/linked-identity.ts storeDatabase': fc
      .constantFrom(5432, 5433)
      .map((port) => LinkedIdentity.storeDatabase({ ...access, port }, 'password', true)),
    'credentials/linked-identity.ts refreshTokens': fc.constant(
      LinkedIdentity.refreshTokens('first', { ...tokens, sealed_tokens: 'second' }),
    ),
    'credentials/linked-identity.ts unlink': fc.constant(LinkedIdentity.unlink),
    'credentials/linked-identity.ts recordRevocation': fc
      .constantFrom('first', 'second')
      .map((sealed) => LinkedIdentity.recordRevocation(sealed, 'revoked')),
  }),
  repeated(LinkedIdentity, [{ type: 'IdentityLinked', data: { ...linked, sealed_tokens: 'first' } }], {
    'credentials/linked-identity.ts refuseRefresh': fc.constant(LinkedIdentity.refuseRefresh('first', 'invalid_grant')),
    'credentials/linked-identity.ts recordFailure': fc
      .constantFrom('no answer', 'answered 403')
      .map((error) => LinkedIdentity.recordFailure('first', error)),
  }),
  repeated(IdentityLink, [], {
    'credentials/identity-link.ts start': fc.constant(IdentityLink.start({ ...link, sealed_verifier: 'v', expires_at: FOREVER })),
    'credentials/identity-link.ts answer': fc
      .constantFrom(digest, '1'.repeat(64))
      .map((state) => IdentityLink.answer(state, digest, FOREVER.replace('2099', '2026'))),
  }),
];

export const cases: AreaCases = { decisions };
