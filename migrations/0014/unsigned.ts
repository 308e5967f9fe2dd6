// Notifications that nobody has signed are swept long before the others, and so are found by their age alone.
export const unsigned = `
create index payment_notifications_unsigned on payment_notifications (received_at) where state = 'unverified';
`;
