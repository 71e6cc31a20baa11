//! The messages of [`super::messages`] once more, as descriptors: in the packages and files that Envoy has
//! them in, as far as this service knows them.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, MessageOptions, MethodDescriptorProto, OneofDescriptorProto,
    ServiceDescriptorProto,
};

use jeton::policy::Unit;

const DESCRIPTOR: &str = ".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor";
const RESPONSE: &str = ".envoy.service.ratelimit.v3.RateLimitResponse";
const REQUEST: &str = ".envoy.service.ratelimit.v3.RateLimitRequest";
const HEADER: &str = ".envoy.config.core.v3.HeaderValue";
const OVERRIDE_UNIT: &str = ".envoy.type.v3.RateLimitUnit";
const DURATION: &str = ".google.protobuf.Duration";
const WRAPPED: &str = ".google.protobuf.UInt64Value";
const STRUCT: &str = ".google.protobuf.Struct";
const VALUE: &str = ".google.protobuf.Value";
const LIST: &str = ".google.protobuf.ListValue";

/// All files, those that others import first.
pub(super) fn files() -> Vec<FileDescriptorProto> {
    vec![
        file(
            "google/protobuf/duration.proto",
            "google.protobuf",
            &[],
            vec![duration()],
        ),
        file(
            "google/protobuf/wrappers.proto",
            "google.protobuf",
            &[],
            vec![wrapper()],
        ),
        file(
            "google/protobuf/struct.proto",
            "google.protobuf",
            &[],
            structs(),
        ),
        with_enum(
            file(
                "envoy/type/v3/ratelimit_unit.proto",
                "envoy.type.v3",
                &[],
                Vec::new(),
            ),
            units("RateLimitUnit", |unit| unit != Unit::Week),
        ),
        file(
            "envoy/config/core/v3/base.proto",
            "envoy.config.core.v3",
            &[],
            vec![message(
                "HeaderValue",
                vec![text("key", 1), text("value", 2)],
            )],
        ),
        file(
            "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
            "envoy.extensions.common.ratelimit.v3",
            &[
                "envoy/type/v3/ratelimit_unit.proto",
                "google/protobuf/wrappers.proto",
            ],
            vec![descriptor()],
        ),
        service(),
    ]
}

fn service() -> FileDescriptorProto {
    let method = MethodDescriptorProto {
        name: Some("ShouldRateLimit".to_owned()),
        input_type: Some(REQUEST.to_owned()),
        output_type: Some(RESPONSE.to_owned()),
        ..MethodDescriptorProto::default()
    };
    let service = ServiceDescriptorProto {
        name: Some("RateLimitService".to_owned()),
        method: vec![method],
        ..ServiceDescriptorProto::default()
    };
    let request = vec![
        text("domain", 1),
        many(field("descriptors", 2, Type::Message), DESCRIPTOR),
        field("hits_addend", 3, Type::Uint32),
    ];
    let imports = [
        "envoy/config/core/v3/base.proto",
        "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
        "google/protobuf/duration.proto",
        "google/protobuf/struct.proto",
    ];
    let messages = vec![message("RateLimitRequest", request), response()];
    let name = "envoy/service/ratelimit/v3/rls.proto";
    let file = file(name, "envoy.service.ratelimit.v3", &imports, messages);
    FileDescriptorProto {
        service: vec![service],
        ..file
    }
}

fn descriptor() -> DescriptorProto {
    let limit = vec![
        field("requests_per_unit", 1, Type::Uint32),
        of(field("unit", 2, Type::Enum), OVERRIDE_UNIT),
    ];
    let fields = vec![
        many(
            field("entries", 1, Type::Message),
            &format!("{DESCRIPTOR}.Entry"),
        ),
        of(
            field("limit", 2, Type::Message),
            &format!("{DESCRIPTOR}.RateLimitOverride"),
        ),
        of(field("hits_addend", 3, Type::Message), WRAPPED),
        field("is_negative_hits", 4, Type::Bool),
    ];
    DescriptorProto {
        nested_type: vec![
            message("Entry", vec![text("key", 1), text("value", 2)]),
            message("RateLimitOverride", limit),
        ],
        ..message("RateLimitDescriptor", fields)
    }
}

fn response() -> DescriptorProto {
    let inner = |name: &str| format!("{RESPONSE}.{name}");
    let limit = vec![
        field("requests_per_unit", 1, Type::Uint32),
        of(field("unit", 2, Type::Enum), &inner("RateLimit.Unit")),
        text("name", 3),
    ];
    let limit = DescriptorProto {
        enum_type: vec![units("Unit", |_| true)],
        ..message("RateLimit", limit)
    };
    let status = vec![
        of(field("code", 1, Type::Enum), &inner("Code")),
        of(
            field("current_limit", 2, Type::Message),
            &inner("RateLimit"),
        ),
        field("limit_remaining", 3, Type::Uint32),
        of(field("duration_until_reset", 4, Type::Message), DURATION),
    ];
    let fields = vec![
        of(field("overall_code", 1, Type::Enum), &inner("Code")),
        many(
            field("statuses", 2, Type::Message),
            &inner("DescriptorStatus"),
        ),
        many(field("response_headers_to_add", 3, Type::Message), HEADER),
        many(field("request_headers_to_add", 4, Type::Message), HEADER),
        field("raw_body", 5, Type::Bytes),
        of(field("dynamic_metadata", 6, Type::Message), STRUCT),
    ];
    DescriptorProto {
        nested_type: vec![limit, message("DescriptorStatus", status)],
        enum_type: vec![numbered(
            "Code",
            &[("UNKNOWN", 0), ("OK", 1), ("OVER_LIMIT", 2)],
        )],
        ..message("RateLimitResponse", fields)
    }
}

fn duration() -> DescriptorProto {
    let fields = vec![
        field("seconds", 1, Type::Int64),
        field("nanos", 2, Type::Int32),
    ];
    message("Duration", fields)
}

fn wrapper() -> DescriptorProto {
    message("UInt64Value", vec![field("value", 1, Type::Uint64)])
}

fn structs() -> Vec<DescriptorProto> {
    let entry = DescriptorProto {
        options: Some(MessageOptions {
            map_entry: Some(true),
            ..MessageOptions::default()
        }),
        ..message(
            "FieldsEntry",
            vec![text("key", 1), of(field("value", 2, Type::Message), VALUE)],
        )
    };
    let fields = many(
        field("fields", 1, Type::Message),
        &format!("{STRUCT}.FieldsEntry"),
    );
    let own = DescriptorProto {
        nested_type: vec![entry],
        ..message("Struct", vec![fields])
    };
    let kinds = vec![
        field("number_value", 2, Type::Double),
        text("string_value", 3),
        field("bool_value", 4, Type::Bool),
        of(field("struct_value", 5, Type::Message), STRUCT),
        of(field("list_value", 6, Type::Message), LIST),
    ];
    let kinds = kinds.into_iter().map(|field| FieldDescriptorProto {
        oneof_index: Some(0),
        ..field
    });
    let kind = OneofDescriptorProto {
        name: Some("kind".to_owned()),
        ..OneofDescriptorProto::default()
    };
    let value = DescriptorProto {
        oneof_decl: vec![kind],
        ..message("Value", kinds.collect())
    };
    let list = message(
        "ListValue",
        vec![many(field("values", 1, Type::Message), VALUE)],
    );
    vec![own, value, list]
}

fn file(
    name: &str,
    package: &str,
    imports: &[&str],
    messages: Vec<DescriptorProto>,
) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some(package.to_owned()),
        dependency: imports.iter().map(|import| (*import).to_owned()).collect(),
        message_type: messages,
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn with_enum(file: FileDescriptorProto, own: EnumDescriptorProto) -> FileDescriptorProto {
    FileDescriptorProto {
        enum_type: vec![own],
        ..file
    }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto {
        name: Some(name.to_owned()),
        field,
        ..DescriptorProto::default()
    }
}

fn text(name: &str, number: i32) -> FieldDescriptorProto {
    field(name, number, Type::String)
}

fn field(name: &str, number: i32, of: Type) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        r#type: Some(of as i32),
        label: Some(Label::Optional as i32),
        ..FieldDescriptorProto::default()
    }
}

fn of(field: FieldDescriptorProto, name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        type_name: Some(name.to_owned()),
        ..field
    }
}

fn many(field: FieldDescriptorProto, name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        label: Some(Label::Repeated as i32),
        ..of(field, name)
    }
}

fn units(name: &str, has: fn(Unit) -> bool) -> EnumDescriptorProto {
    let unknown = ("UNKNOWN".to_owned(), 0);
    let known = Unit::ALL.into_iter().filter(|unit| has(*unit));
    let known = known.map(|unit| (unit.word().to_ascii_uppercase(), unit as i32));
    let all: Vec<(String, i32)> = [unknown].into_iter().chain(known).collect();
    let all: Vec<(&str, i32)> = all
        .iter()
        .map(|(name, number)| (name.as_str(), *number))
        .collect();
    numbered(name, &all)
}

fn numbered(name: &str, values: &[(&str, i32)]) -> EnumDescriptorProto {
    let value = |(name, number): &(&str, i32)| EnumValueDescriptorProto {
        name: Some((*name).to_owned()),
        number: Some(*number),
        ..EnumValueDescriptorProto::default()
    };
    EnumDescriptorProto {
        name: Some(name.to_owned()),
        value: values.iter().map(value).collect(),
        ..EnumDescriptorProto::default()
    }
}
