import type { Area, Needs } from '../area.ts';
import { agentRuntimeOperationsOf } from './agent-runtime.ts';
import { attemptReportOperations } from './attempt-report.ts';
import { runnerCredentialOperations } from './runner-credential.ts';
import { runnerPresenceOperations } from './runner-presence.ts';

type Services = 'createBrokerUser' | 'runnerBroker' | 'codeHost' | 'oauth' | 'packageFiles' | 'recordAttempt';

export const runnersArea = {
  title: 'Runners',
  description:
    'What a runner needs: the runtime of its agent, and credentials with which it receives messages from the broker; see `/asyncapi.json`.',
  operations: ({ createBrokerUser, runnerBroker, codeHost, oauth, packageFiles, recordAttempt }: Needs<Services>) => ({
    ...runnerCredentialOperations(createBrokerUser),
    ...runnerPresenceOperations(runnerBroker),
    ...agentRuntimeOperationsOf(codeHost, oauth, packageFiles),
    ...attemptReportOperations(recordAttempt),
  }),
  plainRoutes: [],
} satisfies Area;
