import type { Area, Needs } from '../services-of-areas.ts';
import { agentRuntimeOperationsOf } from './agent-runtime.ts';
import { runnerCredentialOperations } from './runner-credential.ts';
import { runnerPresenceOperations } from './runner-presence.ts';

export const runnersArea = {
  title: 'Runners',
  operations: ({ createBrokerUser, runnerBroker, codeHost, oauth }: Needs<'createBrokerUser' | 'runnerBroker' | 'codeHost' | 'oauth'>) => ({
    ...runnerCredentialOperations(createBrokerUser),
    ...runnerPresenceOperations(runnerBroker),
    ...agentRuntimeOperationsOf(codeHost, oauth),
  }),
  plainRoutes: [],
} satisfies Area;
