//! Moments and spans of time.

use crate::python::PythonError;
use crate::python::arithmetic::{divide_floats, to_float, truncate};
use crate::python::number::PyNumber;
use crate::yaql::call::Call;
use crate::yaql::dates::{self, DateTime, Fields, MICROSECONDS_A_SECOND, TimeSpan, Zone};
use crate::yaql::error::Error;
use crate::yaql::signature::{Default, Function, Kind, Outcome, Parameter, function, int, method, number, of, text};
use crate::yaql::value::Value;

const DATE_TIME: Parameter = of(Kind::DateTime, "dt");
const SPAN: Parameter = of(Kind::TimeSpan, "ts");
const OFFSET: Parameter = of(Kind::TimeSpan, "offset").or(Default::NoTime);
const SPANS: &[Parameter] = &[of(Kind::TimeSpan, "ts1"), of(Kind::TimeSpan, "ts2")];

const fn zero(parameter: Parameter) -> Parameter {
    parameter.or(Default::Int(0))
}

const fn unchanged(parameter: Parameter) -> Parameter {
    parameter.or(Default::Null)
}

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "datetime",
        &[
            int("year"),
            int("month"),
            int("day"),
            zero(int("hour")),
            zero(int("minute")),
            zero(int("second")),
            zero(int("microsecond")),
            OFFSET,
        ],
        |call| moment(DateTime::new(&fields(call, 0)?, Some(Zone::from_span(span(call, 7))))),
    ),
    function("datetime", &[number("timestamp"), OFFSET], |call| {
        let seconds = to_float(&call.number(0)).unwrap_or(f64::INFINITY);
        moment(DateTime::from_timestamp(seconds, Zone::from_span(span(call, 1))))
    }),
    function(
        "datetime",
        &[text("string"), text("format").or(Default::Null)],
        |call| {
            let parsed = match call.text_if_any(1) {
                Some(format) if !format.is_empty() => {
                    dates::parse_with_format(call.text(0), format, &call.engine.allowance.patience)
                }
                _ => dates::parse(call.text(0), &local_now(call)?.start_of_day()),
            };
            moment(parsed.map(DateTime::or_utc))
        },
    ),
    function(
        "timespan",
        &[
            zero(int("days")),
            zero(int("hours")),
            zero(int("minutes")),
            zero(of(Kind::Integer, "seconds")),
            zero(of(Kind::Integer, "milliseconds")),
            zero(of(Kind::Integer, "microseconds")),
        ],
        |call| {
            const UNITS: [i128; 6] = [86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1];
            let parts = UNITS.iter().enumerate().map(|(index, unit)| {
                let count = i128::try_from(call.int(index)).unwrap_or(i128::from(i64::MAX) * 1_000_000);
                count.saturating_mul(*unit)
            });
            time_span(TimeSpan::from_microseconds(parts.fold(0, i128::saturating_add)))
        },
    ),
    function(
        "now",
        &[of(Kind::TimeSpan, "offset").nullable().or(Default::NoTime)],
        |call| match call.value(0) {
            Value::Null => Ok(Value::DateTime(local_now(call)?)),
            _ => moment(DateTime::from_unix(
                unix_now(call),
                Some(Zone::from_span(span(call, 0))),
            )),
        },
    ),
    function("localtz", &[], |call| Ok(Value::TimeSpan(local_offset(call)))),
    function("utctz", &[], |_| Ok(Value::TimeSpan(TimeSpan::default()))),
    function("#operator_+", &[DATE_TIME, SPAN], |call| {
        moment(date_time(call, 0)?.plus(span(call, 1)))
    }),
    function("#operator_+", &[SPAN, DATE_TIME], |call| {
        moment(date_time(call, 1)?.plus(span(call, 0)))
    }),
    function("#operator_+", SPANS, |call| {
        time_span(span(call, 0).plus(span(call, 1)))
    }),
    function("#operator_-", &[DATE_TIME, SPAN], |call| {
        moment(date_time(call, 0)?.minus(span(call, 1)))
    }),
    function(
        "#operator_-",
        &[of(Kind::DateTime, "dt1"), of(Kind::DateTime, "dt2")],
        |call| time_span(date_time(call, 0)?.since(&date_time(call, 1)?)),
    ),
    function("#operator_-", SPANS, |call| {
        time_span(span(call, 0).minus(span(call, 1)))
    }),
    function("#operator_*", &[SPAN, number("n")], |call| {
        multiplied(span(call, 0), &call.number(1))
    }),
    function("#operator_*", &[number("n"), SPAN], |call| {
        multiplied(span(call, 1), &call.number(0))
    }),
    function("#operator_/", SPANS, |call| {
        let parts = [0, 1].map(|index| span(call, index).total_microseconds() as f64);
        Ok(Value::float(divide_floats(parts[0], parts[1])?))
    }),
    function("#operator_/", &[SPAN, number("n")], |call| {
        divided(span(call, 0), &call.number(1))
    }),
    function("#unary_operator_-", &[SPAN], |call| time_span(span(call, 0).negated())),
    function("#unary_operator_+", &[SPAN], |call| Ok(call.owned(0))),
    method(
        "replace",
        &[
            DATE_TIME,
            unchanged(int("year")),
            unchanged(int("month")),
            unchanged(int("day")),
            unchanged(int("hour")),
            unchanged(int("minute")),
            unchanged(int("second")),
            unchanged(int("microsecond")),
            unchanged(of(Kind::TimeSpan, "offset")),
        ],
        |call| {
            let zone = match call.value(8) {
                Value::TimeSpan(offset) => Some(Zone::from_span(*offset)),
                _ => date_time(call, 0)?.zone().cloned(),
            };
            moment(DateTime::new(&fields(call, 1)?, zone))
        },
    ),
    method("format", &[DATE_TIME, text("format")], |call| {
        let moment = date_time(call, 0)?;
        moment.offset()?;
        Ok(moment.format(call.text(1)).into())
    }),
];

const MOMENT: &[Parameter] = &[of(Kind::DateTime, "obj")];
const SPAN_OBJECT: &[Parameter] = &[of(Kind::TimeSpan, "obj")];

/// What `moment.year` and the like call.
pub(super) const PROPERTIES: &[Function] = &[
    function("#property#year", MOMENT, |call| field(call, |fields| fields.year)),
    function("#property#month", MOMENT, |call| field(call, |fields| fields.month)),
    function("#property#day", MOMENT, |call| field(call, |fields| fields.day)),
    function("#property#hour", MOMENT, |call| field(call, |fields| fields.hour)),
    function("#property#minute", MOMENT, |call| field(call, |fields| fields.minute)),
    function("#property#second", MOMENT, |call| field(call, |fields| fields.second)),
    function("#property#microsecond", MOMENT, |call| {
        field(call, |fields| fields.microsecond)
    }),
    function("#property#weekday", MOMENT, |call| {
        Ok(Value::int(date_time(call, 0)?.weekday()))
    }),
    function("#property#date", MOMENT, |call| {
        Ok(Value::DateTime(date_time(call, 0)?.start_of_day()))
    }),
    function("#property#time", MOMENT, |call| {
        let moment = date_time(call, 0)?;
        time_span(moment.since(&moment.start_of_day()))
    }),
    // It keeps its zone although the clock is put to UTC.
    function("#property#utc", MOMENT, |call| {
        let utc = date_time(call, 0)?;
        moment(utc.minus(utc.offset()?))
    }),
    function("#property#offset", MOMENT, |call| {
        time_span(date_time(call, 0)?.offset())
    }),
    function("#property#timestamp", MOMENT, |call| {
        Ok(Value::float(date_time(call, 0)?.timestamp()?))
    }),
    function("#property#microseconds", SPAN_OBJECT, |call| {
        Ok(Value::int(span(call, 0).total_microseconds()))
    }),
    function("#property#milliseconds", SPAN_OBJECT, |call| in_units(call, 1e3)),
    function("#property#seconds", SPAN_OBJECT, |call| in_units(call, 1e6)),
    function("#property#minutes", SPAN_OBJECT, |call| in_units(call, 6e7)),
    function("#property#hours", SPAN_OBJECT, |call| in_units(call, 3.6e9)),
    function("#property#days", SPAN_OBJECT, |call| in_units(call, 8.64e10)),
];

fn moment(moment: Result<DateTime, PythonError>) -> Outcome {
    Ok(Value::DateTime(moment?))
}

fn time_span(span: Result<TimeSpan, PythonError>) -> Outcome {
    Ok(Value::TimeSpan(span?))
}

fn date_time(call: &Call<'_>, index: usize) -> Result<DateTime, Error> {
    match call.value(index) {
        Value::DateTime(moment) => Ok(moment.clone()),
        _ => local_now(call),
    }
}

fn span(call: &Call<'_>, index: usize) -> TimeSpan {
    match call.value(index) {
        Value::TimeSpan(span) => *span,
        _ => TimeSpan::default(),
    }
}

fn local_offset(call: &Call<'_>) -> TimeSpan {
    TimeSpan::from_seconds(call.engine.surroundings.local_offset.into())
}

fn unix_now(call: &Call<'_>) -> i64 {
    call.engine.surroundings.now.and_utc().timestamp_micros()
}

/// The time on the clock here, without a zone.
fn local_now(call: &Call<'_>) -> Result<DateTime, Error> {
    let local = unix_now(call) + i64::from(call.engine.surroundings.local_offset) * MICROSECONDS_A_SECOND;
    Ok(DateTime::from_unix(local, None)?)
}

/// Year to microsecond from seven arguments; what is null stays as it is in the moment before them.
fn fields(call: &Call<'_>, first: usize) -> Result<Fields, Error> {
    let mut fields = match first.checked_sub(1).map(|index| call.value(index)) {
        Some(Value::DateTime(moment)) => moment.fields(),
        _ => Fields::date(1, 1, 1),
    };
    let places = [
        &mut fields.year,
        &mut fields.month,
        &mut fields.day,
        &mut fields.hour,
        &mut fields.minute,
        &mut fields.second,
        &mut fields.microsecond,
    ];
    for (index, place) in places.into_iter().enumerate() {
        if !call.value(first + index).is_null() {
            *place = c_int(call, first + index)?;
        }
    }
    Ok(fields)
}

fn c_int(call: &Call<'_>, index: usize) -> Result<i64, Error> {
    let overflow = |message: &str| PythonError::new("OverflowError", message).into();
    let Ok(number) = i64::try_from(&call.int(index)) else {
        return Err(overflow("Python int too large to convert to C long"));
    };
    match i32::try_from(number) {
        Ok(_) => Ok(number),
        Err(_) if number < 0 => Err(overflow("signed integer is less than minimum")),
        Err(_) => Err(overflow("signed integer is greater than maximum")),
    }
}

fn field(call: &Call<'_>, of: fn(&Fields) -> i64) -> Outcome {
    Ok(Value::int(of(&date_time(call, 0)?.fields())))
}

fn in_units(call: &Call<'_>, microseconds: f64) -> Outcome {
    Ok(Value::float(span(call, 0).total_microseconds() as f64 / microseconds))
}

fn multiplied(span: TimeSpan, factor: &PyNumber) -> Outcome {
    let microseconds = span.total_microseconds();
    time_span(match factor {
        PyNumber::Int(factor) => {
            let factor = i128::try_from(factor).unwrap_or(i128::MAX);
            TimeSpan::from_microseconds(microseconds.saturating_mul(factor))
        }
        PyNumber::Float(factor) => TimeSpan::from_float_microseconds(microseconds as f64 * factor),
    })
}

fn divided(span: TimeSpan, divisor: &PyNumber) -> Outcome {
    let microseconds = span.total_microseconds() as f64;
    if divisor.is_zero() {
        let message = if divisor.is_float() {
            "float division by zero"
        } else {
            "division by zero"
        };
        return Err(PythonError::new("ZeroDivisionError", message).into());
    }
    let quotient = divide_floats(microseconds, to_float(divisor)?)?;
    truncate(quotient)?;
    time_span(TimeSpan::from_float_microseconds(quotient))
}
