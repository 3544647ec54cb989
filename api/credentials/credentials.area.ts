import type { Area, Needs } from '../area.ts';
import { agentCredentialOperations } from './agent-credentials.ts';
import { connectOperations } from './connect-provider.ts';
import { credentialRequestOperations } from './credential-requests.ts';
import { linkedIdentityOperations } from './linked-identities.ts';
import { oauthCallback } from './oauth-callback.ts';

export const credentialsArea = {
  title: 'Credentials',
  description: 'What runners ask for, accounts at other services, and credentials of databases. Secrets are stored encrypted.',
  operations: ({ testDatabase, oauth, publicUrl }: Needs<'testDatabase' | 'oauth' | 'publicUrl'>) => ({
    ...credentialRequestOperations,
    ...linkedIdentityOperations(testDatabase),
    ...agentCredentialOperations,
    ...connectOperations(oauth, publicUrl),
  }),
  plainRoutes: [oauthCallback],
} satisfies Area;
