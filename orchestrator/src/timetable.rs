//! When a schedule is due: cron expressions in time zones.

use std::str::FromStr as _;

use chrono::{DateTime, TimeZone as _};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::nearest::nearest;
use legwork_shared::time::Timestamp;

/// The moments of a cron expression in a time zone.
///
/// Where clocks are put forward and a fixed time of the day does not exist, the moment is the first one after the gap; where
/// they are put back and it comes twice, it is the first of the two. So a daily schedule comes once on every day. What comes
/// every few minutes or hours goes on through both.
#[derive(Debug, Clone)]
pub struct Timetable {
    cron: Cron,
    zone: Tz,
}

impl Timetable {
    /// The timetable of a cron expression of five fields, or a nickname such as `@daily`, in an IANA time zone.
    ///
    /// # Errors
    /// [`Code::WrongValue`] names what cannot be read.
    pub fn parse(cron: &str, zone: &str) -> Result<Self, Fault> {
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser.parse(cron).map_err(|error| {
            let message = format!("`{cron}` is no cron expression: {error}");
            let help = "give it minute, hour, day of month, month and day of week, such as '30 2 * * mon-fri'";
            Fault::new(Code::WrongValue, message, help)
        })?;
        let zone = Tz::from_str(zone).map_err(|_| {
            let names = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
            let help = match nearest(zone, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "give it a name of the IANA data base, such as Europe/Berlin".to_owned(),
            };
            Fault::new(Code::WrongValue, format!("`{zone}` is no time zone"), help)
        })?;
        Ok(Self { cron, zone })
    }

    /// The first moment after `after`; none if there is none any more.
    #[must_use]
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = self.local(after)?;
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        u64::try_from(next.timestamp_millis()).ok().map(Timestamp)
    }

    /// The next `count` moments after `after`.
    #[must_use]
    pub fn upcoming(&self, after: Timestamp, count: usize) -> Vec<Timestamp> {
        let following = |at: &Timestamp| self.next(*at);
        std::iter::successors(self.next(after), following).take(count).collect()
    }

    /// The latest moment from `first`, which is one, up to `now`, and the first one after that.
    #[must_use]
    pub fn latest(&self, first: Timestamp, now: Timestamp) -> (Timestamp, Option<Timestamp>) {
        let next = self.next(now);
        let found = self.local(now).and_then(|now| {
            let latest = self.cron.find_previous_occurrence(&now, true).ok()?;
            u64::try_from(latest.timestamp_millis()).ok().map(Timestamp)
        });
        (found.filter(|at| *at > first && *at <= now).unwrap_or(first), next)
    }

    /// A moment as people of the zone write it: `2026-03-29 03:00 CEST`.
    #[must_use]
    pub fn shown(&self, at: Timestamp) -> String {
        match self.local(at) {
            Some(local) => local.format("%Y-%m-%d %H:%M %Z").to_string(),
            None => at.0.to_string(),
        }
    }

    fn local(&self, at: Timestamp) -> Option<DateTime<Tz>> {
        self.zone.timestamp_millis_opt(i64::try_from(at.0).ok()?).single()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moment of a text in UTC.
    fn utc(text: &str) -> Timestamp {
        let moment = DateTime::parse_from_rfc3339(&format!("{text}:00Z")).expect("a moment");
        Timestamp(u64::try_from(moment.timestamp_millis()).expect("after 1970"))
    }

    fn days(zone: &str, cron: &str, from: &str, count: usize) -> Vec<String> {
        let table = Timetable::parse(cron, zone).expect("a timetable");
        let upcoming = table.upcoming(utc(from), count);
        upcoming.into_iter().map(|at| table.shown(at)).collect()
    }

    #[test]
    fn d46_a_daily_schedule_comes_once_on_the_days_when_clocks_change() {
        let spring = days("Europe/Berlin", "30 2 * * *", "2026-03-27T12:00", 4);
        let expected = [
            "2026-03-28 02:30 CET",
            "2026-03-29 03:00 CEST",
            "2026-03-30 02:30 CEST",
            "2026-03-31 02:30 CEST",
        ];
        assert_eq!(spring, expected);
        let autumn = days("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", 3);
        let expected = ["2026-10-25 02:30 CEST", "2026-10-26 02:30 CET", "2026-10-27 02:30 CET"];
        assert_eq!(autumn, expected);
    }

    #[test]
    fn d46_what_comes_every_half_hour_goes_on_through_a_change() {
        let table = Timetable::parse("*/30 * * * *", "Europe/Berlin").expect("a timetable");
        for day in ["2026-03-29T00:00", "2026-10-25T00:00"] {
            let upcoming = table.upcoming(utc(day), 12);
            for (n, at) in (1..).zip(upcoming) {
                assert_eq!(at, utc(day) + n * 30 * 60_000);
            }
        }
    }

    #[test]
    fn of_what_was_missed_the_latest_counts() {
        let table = Timetable::parse("0 * * * *", "UTC").expect("a timetable");
        let first = utc("2026-05-01T10:00");
        assert_eq!(table.latest(first, first), (first, Some(utc("2026-05-01T11:00"))));
        let now = utc("2026-05-03T07:59");
        assert_eq!(
            table.latest(first, now),
            (utc("2026-05-03T07:00"), Some(utc("2026-05-03T08:00")))
        );
    }

    #[test]
    fn what_is_no_timetable_is_refused_with_what_to_write() {
        let refused = |cron, zone| {
            Timetable::parse(cron, zone)
                .map(|_| ())
                .map_err(|fault| fault.to_string())
        };
        for cron in ["", "* * * *", "61 * * * *", "* * * * * *", "every day"] {
            let fault = refused(cron, "UTC").expect_err(cron);
            assert!(fault.contains("LW0105") && fault.contains("day of week"), "{fault}");
        }
        let fault = refused("@daily", "Europe/Berln").expect_err("no zone");
        assert!(fault.contains("did you mean `Europe/Berlin`?"), "{fault}");
        assert_eq!(refused("@daily", "Asia/Tokyo"), Ok(()));
    }
}
