import type { Area } from '../area.ts';
import { allowedAccountOperations } from './allowed-account.ts';
import { directSignIn } from './direct-sign-in.ts';
import { meOperations } from './me.ts';
import { mySignInOperations } from './my-sign-ins.ts';
import { signInRoutes } from './sign-in.ts';
import { userOperations } from './user.ts';

export const usersArea = {
  title: 'Users',
  description: 'The caller, the users of the platform, and the e-mail addresses that may sign in.',
  operations: () => ({ ...meOperations, ...mySignInOperations, ...userOperations, ...allowedAccountOperations }),
  plainRoutes: [signInRoutes, directSignIn],
} satisfies Area;
