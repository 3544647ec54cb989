import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { table } from './sign-in.ts';

/** The sign-ins of a user that expire later than `at`. If `key_id` is set, only the sign-ins by this API key. */
export type SelectedSignIns = { readonly user_id: string; readonly at: string; readonly key_id?: string | undefined };

const signInList = defineList({ table }, (db, { user_id, at, key_id }: SelectedSignIns) =>
  db
    .selectFrom('sign_ins.sign_ins as signin')
    .where('signin.user_id', '=', user_id)
    .where('signin.expires_at', '>', at)
    .$if(key_id !== undefined, (query) => query.where('signin.key_id', '=', key_id!)),
);

/** Returns a page of sign-ins, as SignInRead without `is_current`. */
export const signInPage = (reads: Reads, selected: SelectedSignIns, window: PageWindow): Promise<Page> =>
  reads.page(signInList, selected, window);
