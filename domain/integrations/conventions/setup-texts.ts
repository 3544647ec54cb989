export const PASTE_SECRET = 'Paste the secret. Only the answer that created it shows it: if it is lost, replace it.';
